package client

import (
	"context"
	"strconv"
)

// AwaitsSecrets is the comment of a job that was submitted with secrets. While it is held and was never let go, nobody has brought
// them.
const AwaitsSecrets = "muster: held until its secrets are on the head node"

// SecretsRequest has the values of a job's secrets, by the names of their variables.
type SecretsRequest struct {
	Values map[string][]byte `json:"values"`
}

// KeepSecrets hands over the secrets of a job of the caller's.
func (c Client) KeepSecrets(ctx context.Context, id int, r SecretsRequest) error {
	return c.post(ctx, "/v1/jobs/"+strconv.Itoa(id)+"/secrets", r, nil)
}
