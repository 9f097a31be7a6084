package connect

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/sys/shell"
)

// plugin is AWS's program that speaks Session Manager's protocol.
const plugin = "session-manager-plugin"

const pluginPage = "https://docs.aws.amazon.com/systems-manager/latest/userguide/session-manager-working-with-install-plugin.html"

// tokenVariable has the token of a session: every user could read it in a command line.
const tokenVariable = "AWS_SSM_START_SESSION_RESPONSE"

// lastWithoutVariable is the last plugin that takes the token on its command line
// alone.
var lastWithoutVariable = []int{1, 2, 497, 0}

// PluginMissing is why Session Manager cannot be used, nil if it can.
func PluginMissing(ctx context.Context) error {
	path, err := exec.LookPath(plugin)
	if err != nil {
		return fmt.Errorf("there is no %s on the PATH; %s says how to install it", plugin, pluginPage)
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w", path, err)
	}
	version := strings.TrimSpace(string(out))
	if !newer(version, lastWithoutVariable) {
		return fmt.Errorf("%s is too old (%s): it wants secrets on its command line; %s has a new one", path, version, pluginPage)
	}
	return nil
}

// newer compares a version with another one. Other texts are never newer.
func newer(version string, than []int) bool {
	parts := strings.Split(version, ".")
	for i, n := range than {
		if i >= len(parts) {
			return false
		}
		have, err := strconv.Atoi(parts[i])
		if err != nil || have < n {
			return false
		}
		if have > n {
			return true
		}
	}
	return false
}

// SSHSession asks for a session that carries SSH.
func SSHSession(instance string) api.SessionOrder {
	return api.SessionOrder{Instance: instance, Document: "AWS-StartSSHSession", Parameters: map[string][]string{"portNumber": {"22"}}}
}

// ShellSession asks for a session with a shell: of the head node's user, or of Session
// Manager's own where that is not known.
func ShellSession(h Head) api.SessionOrder {
	if h.User == "" {
		return api.SessionOrder{Instance: h.Instance, Document: "SSM-SessionManagerRunShell"}
	}
	return api.SessionOrder{
		Instance: h.Instance, Document: "AWS-StartInteractiveCommand",
		Parameters: map[string][]string{"command": {"sudo --login --user=" + shell.Line([]string{h.User})}},
	}
}

// Plugin is the command line that takes a session up, and what it needs in its
// environment.
func Plugin(region, profile string, s api.Session) (line, env []string, err error) {
	path, err := exec.LookPath(plugin)
	if err != nil {
		return nil, nil, fmt.Errorf("there is no %s on the PATH; %s says how to install it", plugin, pluginPage)
	}
	return []string{path, tokenVariable, region, "StartSession", profile, s.Order, s.Endpoint}, []string{tokenVariable + "=" + s.Token}, nil
}
