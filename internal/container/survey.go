package container

import (
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

// look reads the image, and who the user is outside.
func (m *maker) look() error {
	host, err := m.account()
	if err != nil {
		return err
	}
	s := survey{host: host}
	p := m.r.program()
	root := ref(m.rootFD)
	files := []struct {
		to *[]byte
		reading
	}{
		{&s.passwd, p.readFile(root, "/etc/passwd", maxFile)},
		{&s.group, p.readFile(root, "/etc/group", maxFile)},
		{&s.environment, p.readFile(root, "/etc/environment", maxFile)},
		{&s.rc, p.readFile(root, "/etc/rc", maxFile)},
		{&s.loginDefs, p.readFile(root, "/etc/login.defs", maxFile)},
	}
	there := func(path string) ref {
		f := p.allow(p.openIn(root, path, unix.O_PATH, 0))
		p.close(f)
		return f
	}
	debian, shell, home := there("/etc/debian_version"), there(host.shell), there(host.home)
	results, err := m.r.do(p)
	if err != nil {
		return err
	}
	for _, f := range files {
		if *f.to, _, err = f.content(results); err != nil {
			return err
		}
	}
	_, s.hasRC, _ = files[3].content(results)
	s.debian, s.hasShell, s.hasHome = at(results, debian).errno == 0, at(results, shell).errno == 0, at(results, home).errno == 0
	m.survey = s
	if !m.described {
		m.config = enrootConfig(s)
	}
	return nil
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
