package load

// Unlooked is a measurement that does not ask for room first.
func Unlooked(s Storage) Storage {
	s.unlooked = true
	return s
}
