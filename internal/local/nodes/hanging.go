package nodes

// Hung is a machine whose first process was stopped by a signal: what it should start,
// end or note is left undone until it goes on.
type Hung struct {
	Node string // "" is the head node
	PID  int    // of the process, as the caller sees it
}

// Hanging are the machines of an anchor that hang. They are not ended for it: whoever
// stopped one has a reason.
func Hanging(a AnchorProcess) ([]Hung, error) {
	inits, err := nodeInits(a.PID)
	if err != nil {
		return nil, err
	}
	var all []Hung
	if halted(a.PID) {
		all = append(all, Hung{PID: a.PID})
	}
	for _, i := range inits {
		if halted(i.pid) {
			all = append(all, Hung{i.name, i.pid})
		}
	}
	return all, nil
}

// halted tells whether a process was stopped by a signal.
func halted(pid int) bool {
	state, _, err := readStat(pid)
	return err == nil && state == "T"
}
