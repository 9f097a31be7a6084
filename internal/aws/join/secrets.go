package join

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	pathSecrets = "/v1/secrets"
	// What credentials about secrets are about.
	aboutAsked = "muster secrets asked 1"
	aboutGiven = "muster secrets given 1"
	// cipher is one that every munge has. It hides what is in a credential from all but the one
	// user who may open it.
	cipher = "aes128"
)

// ErrNotGiven says that there are no secrets for who asks, and will be none.
var ErrNotGiven = errors.New("refused")

// secretsRequest is a job that asks for its secrets.
type secretsRequest struct {
	Job int `json:"job"`
}

// secretsAnswer has them, by their names, or why they are not given.
type secretsAnswer struct {
	Values map[string][]byte `json:"values,omitempty"`
	// Refused is final, Failed is not.
	Refused string `json:"refused,omitempty"`
	Failed  string `json:"failed,omitempty"`
}

// Giver gives a job's secrets to a user, whom munge has named. What wraps ErrNotGiven is final.
type Giver func(ctx context.Context, uid, job int) (map[string][]byte, error)

// SecretsHandler gives jobs their secrets. Any user may ask; the answer is a credential that only
// he can open.
func SecretsHandler(give Giver, m Munge) http.Handler {
	room := &handler{munge: m, room: make(chan struct{}, checksAtOnce)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+pathSecrets, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), handleWait)
		defer cancel()
		credential, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var sealed string
		err = room.inTurn(ctx, func() (err error) {
			sealed, err = m.giveSecrets(ctx, give, string(credential))
			return err
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, sealed) // the job has gone: it asks again
	})
	return mux
}

// giveSecrets opens a request and seals its answer for who asks.
func (m Munge) giveSecrets(ctx context.Context, give Giver, credential string) (string, error) {
	uid, said, err := m.open(ctx, credential)
	if err != nil {
		return "", err
	}
	text, ok := strings.CutPrefix(said, aboutAsked+"\n")
	if !ok {
		return "", fmt.Errorf("%w: the credential is of something else", ErrRefused)
	}
	var request secretsRequest
	if err := json.Unmarshal([]byte(text), &request); err != nil {
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	var answer secretsAnswer
	switch values, err := give(ctx, uid, request.Job); {
	case errors.Is(err, ErrNotGiven):
		answer.Refused = err.Error()
	case err != nil:
		answer.Failed = err.Error()
	default:
		answer.Values = values
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return "", err
	}
	return m.seal(ctx, strings.Join([]string{aboutGiven, digest([]byte(credential)), string(body)}, "\n"), uid)
}

// Secrets asks for those of a job of the caller's, again and again until the head node answers or
// ctx ends. c.Munge's user is the head node's.
func (c Client) Secrets(ctx context.Context, job int) (map[string][]byte, error) {
	var values map[string][]byte
	err := c.persist(ctx, func() (err error) {
		values, err = c.askSecrets(ctx, job)
		return err
	})
	return values, err
}

func (c Client) askSecrets(ctx context.Context, job int) (map[string][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	text, err := json.Marshal(secretsRequest{job})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errWrong, err)
	}
	credential, err := c.Munge.seal(ctx, aboutAsked+"\n"+string(text), c.Munge.UID)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.Head+pathSecrets, strings.NewReader(credential))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errWrong, err)
	}
	resp, err := c.client().Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	sealed, err := io.ReadAll(io.LimitReader(resp.Body, mostBody))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the head node says: %s", strings.TrimSpace(string(sealed)))
	}
	return c.Munge.openSecrets(ctx, string(sealed), credential)
}

// openSecrets opens an answer, if it is the head node's to this request.
func (m Munge) openSecrets(ctx context.Context, sealed, credential string) (map[string][]byte, error) {
	uid, said, err := m.open(ctx, sealed)
	if err != nil {
		return nil, err
	}
	text, ok := strings.CutPrefix(said, aboutGiven+"\n"+digest([]byte(credential))+"\n")
	if uid != m.UID || !ok {
		return nil, fmt.Errorf("the answer is not the head node's: %w", ErrRefused)
	}
	var answer secretsAnswer
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return nil, errors.New("read the head node's answer: it is no JSON") // whose text stays here
	}
	switch {
	case answer.Refused != "":
		return nil, fmt.Errorf("%w: %s", errWrong, answer.Refused)
	case answer.Failed != "":
		return nil, errors.New(answer.Failed)
	}
	return answer.Values, nil
}
