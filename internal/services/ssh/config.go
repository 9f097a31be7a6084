package ssh

import (
	"fmt"
	"strings"
	"time"
)

// Where machines of a cluster have what OpenSSH reads, and its server.
const (
	Dir       = "/etc/ssh"
	AgentDir  = "/run/muster-ssh"
	Server    = "/usr/sbin/sshd"
	HostFile  = "ssh_host_ecdsa_key"
	KnownFile = "ssh_known_hosts"
	usersFile = "users_authority.pub"
	// PAMFile is in Dir and shown where PAM looks for sshd's.
	PAMFile = "pam"
	PAMPath = "/etc/pam.d/sshd"
)

// LoginGrace is how long a client may take to log in.
const LoginGrace = 30 * time.Second

// ServerLine is the server for one connection on its standard input and output. What it
// separates privileges with is a directory of /run, which is new in each machine.
func ServerLine() []string {
	return []string{"/bin/sh", "-c", "mkdir -p /run/sshd 2>/dev/null; exec " + Server + " -i -e -f " + Dir + "/sshd_config"}
}

// Files are what machines have in Dir by their names, all but the machines' own key.
// environment is the first environment of logins, NAME=VALUE. PAM is asked, and always
// agrees: without PAM, the server refuses users without a password.
func Files(host string, users Authority, environment []string) map[string]string {
	quoted := make([]string, len(environment))
	for i, v := range environment {
		quoted[i] = `"` + strings.ReplaceAll(v, `"`, `\"`) + `"`
	}
	return map[string]string{
		"ssh_config": `Host *
  IdentityAgent ` + AgentDir + `/agent
  StrictHostKeyChecking yes
  UpdateHostKeys no
  ConnectTimeout 10
`,
		"sshd_config": fmt.Sprintf(`HostKey %[1]s/%[2]s
TrustedUserCAKeys %[1]s/%[3]s
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
LoginGraceTime %[5]d
UsePAM yes
UseDNS no
PrintMotd no
PrintLastLog no
PidFile none
AcceptEnv LANG LC_* COLORTERM NO_COLOR
SetEnv %[4]s
Subsystem sftp internal-sftp
`, Dir, HostFile, usersFile, strings.Join(quoted, " "), int(LoginGrace.Seconds())),
		KnownFile: "* " + host + "\n",
		usersFile: users.Line() + "\n",
		PAMFile:   "auth required pam_deny.so\naccount required pam_permit.so\npassword required pam_deny.so\nsession required pam_permit.so\n",
	}
}
