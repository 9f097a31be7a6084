package api

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/muster-hpc/muster/internal/aws/inventory"
)

func (s *survey) kmsKeys(ctx context.Context) {
	client := kms.NewFromConfig(s.config)
	s.eachOne(ofKMSKeys, "kms:DescribeKey", s.names(ofKMSKeys), func(name string) error {
		out, err := client.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &name})
		if err != nil {
			return err
		}
		wrong := ""
		switch k := out.KeyMetadata; k.KeyState {
		case kmstypes.KeyStateEnabled:
		case kmstypes.KeyStatePendingDeletion:
			wrong = "it is going to be deleted"
			if k.DeletionDate != nil {
				wrong += " on " + date(*k.DeletionDate)
			}
		default:
			wrong = "it is " + strings.ToLower(string(k.KeyState))
		}
		s.other(ofKMSKeys, name, wrong)
		return nil
	})
}

// secrets asks whether secrets are there, and never for their contents.
func (s *survey) secrets(ctx context.Context) {
	client := secretsmanager.NewFromConfig(s.config)
	s.eachOne(ofSecrets, "secretsmanager:DescribeSecret", s.names(ofSecrets), func(name string) error {
		if _, parameter, ok := strings.Cut(name, ":parameter"); ok && strings.Contains(name, ":ssm:") {
			return s.parameter(ctx, name, parameter)
		}
		out, err := client.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: &name})
		if err != nil {
			return err
		}
		wrong := ""
		if out.DeletedDate != nil {
			wrong = "it was deleted on " + date(*out.DeletedDate)
		}
		s.other(ofSecrets, name, wrong)
		return nil
	})
}

// parameter asks for one of Systems Manager's, whose name in an ARN begins with a
// slash even if it has none.
func (s *survey) parameter(ctx context.Context, arn, name string) error {
	for _, n := range []string{name, strings.TrimPrefix(name, "/")} {
		out, err := ssm.NewFromConfig(s.config).DescribeParameters(ctx, &ssm.DescribeParametersInput{
			ParameterFilters: []ssmtypes.ParameterStringFilter{{Key: aws.String("Name"), Option: aws.String("Equals"), Values: []string{n}}},
		})
		if err != nil {
			return fmt.Errorf("ssm:DescribeParameters: %w", err)
		}
		if len(out.Parameters) > 0 {
			s.other(ofSecrets, arn, "")
		}
	}
	return nil
}

func (s *survey) policies(ctx context.Context) {
	client := iam.NewFromConfig(s.config)
	s.eachOne(ofPolicies, "iam:GetPolicy", s.names(ofPolicies), func(arn string) error {
		_, err := client.GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: &arn})
		if err == nil {
			s.other(ofPolicies, arn, "")
		}
		return err
	})
}

func (s *survey) zones(ctx context.Context) {
	client := route53.NewFromConfig(s.config)
	s.eachOne(ofZones, "route53:GetHostedZone", s.names(ofZones), func(id string) error {
		out, err := client.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: &id})
		if err != nil {
			return err
		}
		z := inventory.HostedZone{Name: strings.TrimSuffix(aws.ToString(out.HostedZone.Name), ".")}
		z.Private = out.HostedZone.Config != nil && out.HostedZone.Config.PrivateZone
		for _, v := range out.VPCs {
			z.VPCs = append(z.VPCs, aws.ToString(v.VPCId))
		}
		s.answer(func(i *inventory.Inventory) { i.HostedZones = with(i.HostedZones, id, z) })
		return nil
	})
}
