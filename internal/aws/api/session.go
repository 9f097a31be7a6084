package api

import (
	"context"
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// SessionOrder asks for a session with an instance by Session Manager.
type SessionOrder struct {
	Instance string `json:"Target"`
	// Document says what kind of session it is.
	Document   string              `json:"DocumentName"`
	Parameters map[string][]string `json:"Parameters,omitempty"`
}

// Session is a session that waits for AWS's session-manager-plugin, which speaks its
// protocol.
type Session struct {
	// Token is what the plugin has to know, as JSON. It is a secret.
	Token string
	// Order is the order as JSON, Endpoint where it was taken.
	Order, Endpoint string
}

// StartSession opens a session. It ends by itself if no client takes it up.
func (a *Account) StartSession(ctx context.Context, o SessionOrder) (Session, error) {
	out, err := ssm.NewFromConfig(a.config).StartSession(ctx, &ssm.StartSessionInput{
		Target: &o.Instance, DocumentName: &o.Document, Parameters: o.Parameters, Reason: aws.String("muster"),
	})
	if err != nil {
		return Session{}, failed(err, "start a session with %s by Session Manager", o.Instance)
	}
	// The names that the plugin reads.
	token, err := json.Marshal(map[string]string{
		"SessionId": aws.ToString(out.SessionId), "TokenValue": aws.ToString(out.TokenValue), "StreamUrl": aws.ToString(out.StreamUrl),
	})
	if err != nil {
		return Session{}, err
	}
	order, err := json.Marshal(o)
	endpoint := "https://ssm." + a.Region + "." + a.Suffix()
	if base := a.config.BaseEndpoint; base != nil {
		endpoint = *base
	}
	return Session{Token: string(token), Order: string(order), Endpoint: endpoint}, err
}
