package ec2

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// change is TerminateInstances, StopInstances, StartInstances and RebootInstances.
// One instance that cannot be changed keeps all as they are.
func (e *EC2) change(_ context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	ids := p.texts("InstanceId")
	changed, hook, err := e.changeLocked(c.Action, p, ids)
	if err != nil {
		return nil, err
	}
	if c.Action == "RebootInstances" {
		return done(c), nil
	}
	var w writer
	w.open("instancesSet")
	for _, x := range changed {
		w.open("item").text("instanceId", x.instance.ID)
		writeState(&w, "currentState", x.to)
		writeState(&w, "previousState", x.from)
		w.close("item")
	}
	if hook != nil && c.Action == "TerminateInstances" {
		for _, x := range changed {
			if x.from != x.to && x.from != terminated {
				hook(x.public)
			}
		}
	}
	return w.close("instancesSet").answer(c), nil
}

type transition struct {
	instance *instance
	from, to State
	public   Instance
}

func (e *EC2) changeLocked(action string, p params, ids []string) ([]transition, func(Instance), *wire.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var absent []string
	for _, id := range ids {
		if i := e.instances[id]; i == nil || !e.exists(i) {
			absent = append(absent, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil, wire.Errorf("MissingParameter", "The request must contain the parameter InstanceId")
	}
	if absent != nil {
		return nil, nil, notFound(absent)
	}
	for _, id := range ids {
		if i := e.instances[id]; action == "TerminateInstances" && i.protected {
			return nil, nil, wire.Errorf("OperationNotPermitted", "The instance '%s' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.", id)
		}
		if m, _ := e.instances[id].at(e.now()); action != "TerminateInstances" && (m.state == terminated || m.state == shuttingDown) {
			return nil, nil, wire.Errorf("IncorrectInstanceState", "The instance '%s' is not in a state from which it can be changed.", id)
		}
	}
	if p.yes("DryRun") {
		return nil, nil, dryRun()
	}
	if e.opts.Paced && action == "TerminateInstances" && !e.pace.resource(action, len(ids)) {
		return nil, nil, throttled()
	}
	var all []transition
	for _, id := range ids {
		all = append(all, e.enter(e.instances[id], action))
	}
	return all, e.opts.OnTerminate, nil
}

// enter begins what an action asks of an instance. mu is held.
func (e *EC2) enter(i *instance, action string) transition {
	now := e.now()
	before, _ := i.at(now)
	x := transition{instance: i, from: before.state, to: before.state}
	later := now.Add(e.opts.Stopping)
	switch {
	case action == "TerminateInstances" && before.state != shuttingDown && before.state != terminated:
		e.end(i, "Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown")
		x.to = shuttingDown
	case action == "StopInstances" && before.state != stopped:
		code, reason := "Client.UserInitiatedShutdown", "User initiated"
		i.enter(moment{at: now, state: stopping, code: code, reason: reason}, moment{at: later, state: stopped, code: code, reason: reason})
		x.to = stopping
	case action == "StartInstances" && before.state == stopped:
		i.enter(moment{at: now, state: pending}, moment{at: now.Add(e.opts.Pending), state: running})
		x.to = pending
	}
	x.public = i.public(now)
	return x
}

// end begins an instance's end. mu is held.
func (e *EC2) end(i *instance, code, reason string) {
	now := e.now()
	i.enter(moment{at: now, state: shuttingDown, code: code, reason: reason}, moment{at: now.Add(e.opts.Stopping), state: terminated, code: code, reason: reason})
	for _, v := range i.volumes {
		switch {
		case v.moto || !v.stays:
			delete(e.tags, v.id)
		default:
			e.left = append(e.left, leftVolume{volume: v, zone: i.Zone})
		}
	}
	for _, n := range i.Interfaces {
		delete(e.tags, n.ID)
	}
}

// Kill ends an instance that nobody asked to end.
func (e *EC2) Kill(id string) { e.Interrupt(id, "Server.InternalError") }

// Interrupt is Kill with the code of a StateReason, such as
// Server.SpotInstanceTermination.
func (e *EC2) Interrupt(id, code string) { e.endOne(id, code, code+": ended by the test") }

// Shutdown is what a machine does that is switched off from within: it ends, or
// stops, as its InstanceInitiatedShutdownBehavior says.
func (e *EC2) Shutdown(id string) {
	const code = "Client.InstanceInitiatedShutdown"
	e.mu.Lock()
	i := e.instances[id]
	stops := i != nil && i.shutdown == "stop"
	if now := e.now(); stops && i.lives(now) {
		i.enter(moment{at: now, state: stopped, code: code, reason: code + ": Instance initiated shutdown"})
	}
	e.mu.Unlock()
	if !stops {
		e.endOne(id, code, code+": Instance initiated shutdown")
	}
}

func (e *EC2) endOne(id, code, reason string) {
	e.mu.Lock()
	i, hook := e.instances[id], e.opts.OnTerminate
	if i == nil || !i.lives(e.now()) {
		e.mu.Unlock()
		return
	}
	e.end(i, code, reason)
	public := i.public(e.now())
	e.mu.Unlock()
	if hook != nil {
		hook(public)
	}
}

// Instances are all instances that have not begun to end, in the order of their launch.
func (e *EC2) Instances() []Instance {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []Instance
	for _, i := range e.order {
		if now := e.now(); i.lives(now) {
			all = append(all, i.public(now))
		}
	}
	return all
}

// SetConsole sets what GetConsoleOutput shows of an instance.
func (e *EC2) SetConsole(id, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := e.instances[id]; i != nil {
		i.console = text
	}
}

// ofOne are the calls about attributes and output of one instance.
func (e *EC2) ofOne(_ context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := e.instances[p.text("InstanceId")]
	if i == nil || !e.exists(i) {
		return nil, notFound([]string{p.text("InstanceId")})
	}
	var w writer
	w.text("instanceId", i.ID)
	switch c.Action {
	case "GetConsoleOutput":
		if p.yes("Latest") && onXen(i.Type) {
			return nil, wire.Errorf("UnsupportedOperation", "This instance type does not support retrieving the latest console logs.")
		}
		text := i.console[max(0, len(i.console)-64<<10):] // EC2 keeps the last 64 KiB
		w.time("timestamp", e.now()).text("output", base64.StdEncoding.EncodeToString([]byte(text)))
		return w.answer(c), nil
	case "ModifyInstanceAttribute":
		return e.modify(c, p, i)
	}
	switch p.text("Attribute") {
	case "userData":
		w.open("userData").text("value", i.spec.userData).close("userData")
	case "disableApiTermination":
		w.open("disableApiTermination").yes("value", i.protected).close("disableApiTermination")
	case "instanceInitiatedShutdownBehavior":
		w.open("instanceInitiatedShutdownBehavior").text("value", i.shutdown).close("instanceInitiatedShutdownBehavior")
	case "instanceType":
		w.open("instanceType").text("value", i.Type).close("instanceType")
	default:
		return wire.Missing("the double knows no attribute %s of an instance", p.text("Attribute")), nil
	}
	return w.answer(c), nil
}

// onXen tells whether a type is older than Nitro, so that its console shows its boot alone:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html
func onXen(kind string) bool {
	family, size, _ := strings.Cut(kind, ".")
	return size != "metal" && slices.Contains([]string{"c3", "c4", "d2", "f1", "g2", "g3", "g3s", "h1", "i2", "i3", "m1", "m2", "m3", "m4", "p2", "p3", "r3", "r4", "t1", "t2", "x1", "x1e"}, family)
}

func (e *EC2) modify(c *wire.Call, p params, i *instance) (*wire.Answer, *wire.Error) {
	groups := p.texts("GroupId")
	known := false
	if p.has("DisableApiTermination") {
		i.protected, known = p.yes("DisableApiTermination.Value"), true
	}
	if p.has("InstanceInitiatedShutdownBehavior") {
		i.shutdown, known = p.text("InstanceInitiatedShutdownBehavior.Value"), true
	}
	if p.has("SourceDestCheck") {
		known = true // nothing that is shown depends on it
	}
	if groups != nil {
		i.Groups, known = groups, true
		i.Interfaces = slices.Clone(i.Interfaces)
		i.Interfaces[0].Groups = groups
		var w writer
		i.writeCards(&w)
		i.cards = w.Bytes()
	}
	if !known {
		return wire.Missing("the double cannot change this attribute of an instance"), nil
	}
	return done(c), nil
}
