//go:build !linux

package tie

import "syscall"

func (p Program) hold(started, ended chan<- error) {
	err := p.Cmd.Start()
	started <- err
	if err == nil {
		ended <- p.Cmd.Wait()
	}
}

func (p Program) tell(s syscall.Signal) { _ = p.Cmd.Process.Signal(s) }
