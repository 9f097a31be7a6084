package manifest

import (
	_ "embed"
	"encoding/json"
	"strings"
)

var (
	//go:embed userdata.sh
	userData string
	//go:embed fetch.py
	fetchProgram string
	//go:embed muster-agent.service
	agentUnit string
)

// MaxUserData is EC2's limit for user data, in bytes before base64.
const MaxUserData = 16384

// UserData is a machine's user data, a script for cloud-init: it fetches muster from
// the bucket, proves that it is the ticket's program, and starts `muster agent`.
//
// It has no ${ of its own, so it can be given to Fn::Sub as it is: only what the
// ticket's values have of CloudFormation's ${Name} is filled in.
//
// MUSTER_ROOT, MUSTER_SHUTDOWN and MUSTER_FETCH_SECONDS in its environment move its
// files, replace the command that ends a machine which cannot join, and change how
// long it tries; AWS_ENDPOINT_URL and AWS_EC2_METADATA_SERVICE_ENDPOINT are as in
// AWS's own programs.
func UserData(t Ticket) string {
	ticket, err := json.Marshal(t)
	if err != nil {
		panic(err) // a struct of strings
	}
	return strings.NewReplacer(
		"@TICKET@", string(ticket), "@ROLE@", t.Role,
		"@FETCH@", strings.TrimSpace(fetchProgram), "@UNIT@", strings.TrimSpace(agentUnit),
	).Replace(userData)
}
