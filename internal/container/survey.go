package container

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// survey is what the image has of the files that matter for making the container.
type survey struct {
	passwd, group, environment, rc, loginDefs []byte
	hasRC, debian, hasShell, hasHome          bool
	host                                      account
}

const maxFile = 512 << 10

// wantedFile is a file of the image that is read if it is wanted, and where it is put.
type wantedFile struct {
	to     *[]byte
	wanted bool
	reading
}

// look reads the image, and the user's account outside.
func (m *maker) look() error {
	host, err := m.account()
	if err != nil {
		return err
	}
	s := survey{host: host}
	p := m.r.program()
	root := ref(m.rootFD)
	read := func(to *[]byte, path string, wanted bool) wantedFile {
		if !wanted { // each is a block that the image's reader unpacks
			return wantedFile{to: to}
		}
		return wantedFile{to: to, wanted: true, reading: p.readFile(root, path, maxFile)}
	}
	files := []wantedFile{
		read(&s.passwd, "/etc/passwd", true),
		read(&s.group, "/etc/group", true),
		read(&s.environment, "/etc/environment", !m.described),
		read(&s.rc, "/etc/rc", !m.described),
		read(&s.loginDefs, "/etc/login.defs", !m.described || !setsPath(m.config)),
	}
	there := func(path string) ref {
		f := p.allow(p.openIn(root, path, unix.O_PATH, 0))
		p.close(f)
		return f
	}
	rc, debian, shell, home := there("/etc/rc"), there("/etc/debian_version"), there(host.shell), there(host.home)
	results, err := m.r.do(p)
	if err != nil {
		return err
	}
	for _, f := range files {
		if !f.wanted {
			continue
		}
		if *f.to, _, err = f.content(results); err != nil {
			return err
		}
	}
	found := func(f ref) bool { return at(results, f).errno == 0 }
	s.hasRC, s.debian, s.hasShell, s.hasHome = found(rc), found(debian), found(shell), found(home)
	m.survey = s
	if !m.described {
		m.config = enrootConfig(s)
	}
	return nil
}

// setsPath tells whether an image says itself where its programs are.
func setsPath(c Config) bool {
	return slices.ContainsFunc(c.Env, func(entry string) bool { return strings.HasPrefix(entry, "PATH=") })
}

// enrootConfig reads what Enroot writes into an image when it imports one.
func enrootConfig(s survey) Config {
	c := Config{}
	for line := range strings.Lines(string(s.environment)) {
		line = strings.TrimRight(line, "\r\n")
		if name, _, ok := strings.Cut(line, "="); ok && validName(name) {
			c.Env = append(c.Env, line)
		}
	}
	for line := range strings.Lines(string(s.rc)) {
		dir, ok := strings.CutPrefix(strings.TrimSpace(line), `cd "`)
		if dir, _, found := strings.Cut(dir, `" && unset OLDPWD`); ok && found {
			c.Workdir = dir
			break
		}
	}
	return c
}

// validName tells whether a shell would take it for a variable's name.
func validName(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
