// Package sudo runs a program as sudo(8) would on a machine of a local cluster, where
// there is no other: with the rights that the caller has, and never with more. It reads
// sudo's command line and returns the program to run; its caller runs that.
package sudo

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/shell"
)

// User is one of a machine's.
type User struct {
	Name        string
	UID, GID    int
	Home, Shell string
}

// Order is what a command line asks for.
type Order struct {
	// User is whom to become, by name or by #number; empty is root.
	User, Group string
	// KeepAll keeps the caller's environment, Keep some variables of it.
	KeepAll bool
	Keep    []string
	// Set are NAME=VALUE.
	Set []string
	// Home sets the user's home directory, Login has a shell of his begin as at a login,
	// and Shell has a shell run the words.
	Home, Login, Shell bool
	// Dir is where to run it.
	Dir string
	// Nothing says that there is no program to run: the user lists his rights, or drops a
	// saved password.
	Nothing bool
	Words   []string
}

// Parse reads sudo's command line.
func Parse(args []string) (Order, error) {
	var o Order
	for len(args) > 0 {
		arg := args[0]
		switch {
		case arg == "--":
			o.Words = args[1:]
			return o, o.complete()
		case strings.HasPrefix(arg, "--"):
			rest, err := o.long(arg[2:], args[1:])
			if err != nil {
				return o, err
			}
			args = rest
		case strings.HasPrefix(arg, "-") && arg != "-":
			rest, err := o.short(arg[1:], args[1:])
			if err != nil {
				return o, err
			}
			args = rest
		case isAssignment(arg):
			o.Set, args = append(o.Set, arg), args[1:]
		default:
			o.Words = args
			return o, o.complete()
		}
	}
	return o, o.complete()
}

func (o *Order) complete() error {
	if len(o.Words) == 0 && !o.Login && !o.Shell && !o.Nothing {
		return errors.New("say which program to run")
	}
	return nil
}

func isAssignment(arg string) bool {
	name, _, ok := strings.Cut(arg, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/-.")
}

// names are the long options by their short ones.
var names = map[string]byte{
	"user": 'u', "group": 'g', "preserve-env": 'E', "set-home": 'H', "login": 'i', "shell": 's', "chdir": 'D',
	"non-interactive": 'n', "stdin": 'S', "askpass": 'A', "reset-timestamp": 'k', "remove-timestamp": 'K', "validate": 'v',
	"list": 'l', "preserve-groups": 'P', "prompt": 'p', "command-timeout": 'T', "close-from": 'C', "host": 'h', "bell": 'B', "no-update": 'N',
}

// withValue are the options that have a value.
const withValue = "ugDpTCh"

func (o *Order) long(arg string, rest []string) ([]string, error) {
	name, value, given := strings.Cut(arg, "=")
	option, ok := names[name]
	if !ok {
		return nil, fmt.Errorf("there is no option --%s here", name)
	}
	if option == 'E' && given {
		o.Keep = append(o.Keep, strings.Split(value, ",")...)
		return rest, nil
	}
	if strings.IndexByte(withValue, option) < 0 {
		return rest, o.flag(option)
	}
	if !given {
		if len(rest) == 0 {
			return nil, fmt.Errorf("--%s needs a value", name)
		}
		value, rest = rest[0], rest[1:]
	}
	o.value(option, value)
	return rest, nil
}

func (o *Order) short(letters string, rest []string) ([]string, error) {
	for i := range len(letters) {
		if strings.IndexByte(withValue, letters[i]) < 0 {
			if err := o.flag(letters[i]); err != nil {
				return nil, err
			}
			continue
		}
		value := letters[i+1:]
		if value == "" {
			if len(rest) == 0 {
				return nil, fmt.Errorf("-%c needs a value", letters[i])
			}
			value, rest = rest[0], rest[1:]
		}
		o.value(letters[i], value)
		return rest, nil
	}
	return rest, nil
}

func (o *Order) value(option byte, value string) {
	switch option {
	case 'u':
		o.User = value
	case 'g':
		o.Group = value
	case 'D':
		o.Dir = value
	}
}

func (o *Order) flag(option byte) error {
	switch option {
	case 'E':
		o.KeepAll = true
	case 'H':
		o.Home = true
	case 'i':
		o.Login = true
	case 's':
		o.Shell = true
	case 'k', 'K', 'v', 'l':
		o.Nothing = true
	case 'n', 'S', 'A', 'P', 'B', 'N': // about passwords, which are not asked for
	default:
		return fmt.Errorf("there is no option -%c here", option)
	}
	return nil
}

// Run is what to run.
type Run struct {
	Line, Env []string
	Dir       string
	// Note is what to tell the caller, if he has not heard it yet.
	Note string
}

// Plan is what to run for an order of a caller, as a wanted user and a group (-1 is that
// user's own). environ is the caller's environment, path the PATH of the program.
func Plan(o Order, caller, wanted User, group int, environ, path []string) (Run, error) {
	r := Run{Dir: o.Dir}
	target := wanted
	switch {
	case caller.UID == 0 || caller.UID == wanted.UID:
	case wanted.UID == 0:
		target = caller
		r.Note = fmt.Sprintf("%s cannot become root here: this runs as %s", caller.Name, caller.Name)
	default:
		return r, fmt.Errorf("%s cannot be %s here", caller.Name, wanted.Name)
	}
	if group < 0 {
		group = target.GID
	}
	if caller.UID != 0 && group != caller.GID && group != target.GID {
		return r, fmt.Errorf("%s cannot be of group %s here", caller.Name, o.Group)
	}
	if caller.UID != target.UID || caller.UID == 0 && group != caller.GID {
		r.Line = []string{"/usr/bin/setpriv", "--reuid=" + strconv.Itoa(target.UID), "--regid=" + strconv.Itoa(group), "--init-groups", "--"}
	}
	words := o.words(target)
	r.Line, r.Env = append(r.Line, words...), o.env(caller, target, environ, path, words)
	if o.Login && r.Dir == "" {
		r.Dir = target.Home
	}
	return r, nil
}

func (o Order) words(target User) []string {
	if !o.Login && !o.Shell {
		return o.Words
	}
	line := []string{target.Shell}
	if o.Login {
		line = append(line, "-l")
	}
	if len(o.Words) > 0 {
		line = append(line, "-c", shell.Line(o.Words))
	}
	return line
}

// kept are variables that sudo leaves in any case, and what leads AWS programs to the
// cluster: on AWS, the machine's role leads them.
var kept = []string{"TERM", "LANG", "LANGUAGE", "TZ", "DISPLAY", "LS_COLORS", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_EC2_METADATA_DISABLED"}

func (o Order) env(caller, target User, environ, path, words []string) []string {
	var env []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if o.KeepAll || slices.Contains(kept, name) || slices.Contains(o.Keep, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, v)
		}
	}
	env = append(env, "PATH="+strings.Join(path, ":"), "USER="+target.Name, "LOGNAME="+target.Name, "SHELL="+target.Shell,
		"SUDO_COMMAND="+strings.Join(words, " "), "SUDO_USER="+caller.Name,
		"SUDO_UID="+strconv.Itoa(caller.UID), "SUDO_GID="+strconv.Itoa(caller.GID))
	if !o.KeepAll || o.Home || o.Login {
		env = append(env, "HOME="+target.Home)
	}
	return last(append(env, o.Set...))
}

// last keeps the last value of each variable.
func last(env []string) []string {
	seen := map[string]bool{}
	var kept []string
	for _, v := range slices.Backward(env) {
		if name, _, _ := strings.Cut(v, "="); !seen[name] {
			seen[name] = true
			kept = append(kept, v)
		}
	}
	slices.Reverse(kept)
	return kept
}
