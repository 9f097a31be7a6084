package source

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// ecrPlace is an account's registry at Amazon.
type ecrPlace struct{ host, region string }

var ecrForm = pattern.New(`^[0-9]{12}\.dkr[.-]ecr(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|on\.aws|on\.amazonwebservices\.com\.cn)$`)

// ecrHost tells whether a registry is one of Amazon's that wants a login, and
// where it is. public.ecr.aws is none: it answers everybody.
func ecrHost(host string) (ecrPlace, bool) {
	m := ecrForm().FindStringSubmatch(host)
	if m == nil {
		return ecrPlace{host: host}, false
	}
	return ecrPlace{host: host, region: m[1]}, true
}

// ecrLogin asks AWS for the password of a registry when it is needed, and again
// before it ends.
type ecrLogin struct {
	at ecrPlace

	// mu guards what follows and lets one ask for all.
	mu   sync.Mutex
	auth *authn.AuthConfig
	ends time.Time
}

func newECR(at ecrPlace) authn.Authenticator { return &ecrLogin{at: at} }

// Authorization implements authn.Authenticator.
func (l *ecrLogin) Authorization() (*authn.AuthConfig, error) {
	return nil, errors.New("ask with a context")
}

// AuthorizationContext implements authn.ContextAuthenticator.
func (l *ecrLogin) AuthorizationContext(ctx context.Context) (*authn.AuthConfig, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.auth != nil && time.Now().Before(l.ends.Add(-5*time.Minute)) {
		return l.auth, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, errors.New("no answer within 30 s"))
	defer cancel()
	auth, ends, err := askECR(ctx, l.at.region)
	if err != nil {
		return nil, permanent{fmt.Errorf("ask AWS for the password of %s: %w; `aws sts get-caller-identity` shows who you are there", l.at.host, err)}
	}
	l.auth, l.ends = auth, ends
	return auth, nil
}

func askECR(ctx context.Context, region string) (*authn.AuthConfig, time.Time, error) {
	var options []func(*config.LoadOptions) error
	if region != "" {
		options = append(options, config.WithRegion(region))
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, time.Time{}, err
	}
	out, err := ecr.NewFromConfig(c).GetAuthorizationToken(ctx, &ecr.GetAuthorizationTokenInput{})
	if err != nil {
		return nil, time.Time{}, err
	}
	if len(out.AuthorizationData) == 0 || out.AuthorizationData[0].AuthorizationToken == nil {
		return nil, time.Time{}, errors.New("the answer has no password")
	}
	data := out.AuthorizationData[0]
	plain, err := base64.StdEncoding.DecodeString(*data.AuthorizationToken)
	user, password, ok := strings.Cut(string(plain), ":")
	if err != nil || !ok {
		return nil, time.Time{}, errors.New("the answer's password cannot be read")
	}
	ends := time.Now().Add(time.Hour)
	if data.ExpiresAt != nil {
		ends = *data.ExpiresAt
	}
	return &authn.AuthConfig{Username: user, Password: password}, ends, nil
}
