package account

import (
	"bytes"
	"context"
	"encoding/xml"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// caller is GetCallerIdentity. moto gives users the ARN of a session; AWS gives them
// their own: https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
func (s *Service) caller(ctx context.Context, c *wire.Call) (*wire.Answer, *wire.Error) {
	if s.opts.Moto == nil {
		return wire.XML(struct {
			XMLName xml.Name `xml:"GetCallerIdentityResponse"`
			ARN     string   `xml:"GetCallerIdentityResult>Arn"`
			User    string   `xml:"GetCallerIdentityResult>UserId"`
			Account string   `xml:"GetCallerIdentityResult>Account"`
		}{ARN: "arn:aws:iam::" + s.opts.Account + ":user/moto", User: "AIDADOUBLE", Account: s.opts.Account}), nil
	}
	answer, err := s.opts.Moto(ctx, c)
	if err != nil {
		return nil, internal(err)
	}
	answer.Body = bytes.ReplaceAll(answer.Body, []byte(":sts::"+s.opts.Account+":user/"), []byte(":iam::"+s.opts.Account+":user/"))
	return answer, nil
}
