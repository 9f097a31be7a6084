package account

import (
	"cmp"
	"slices"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// Quota is a quota of the account.
type Quota struct {
	Service, Code, Name string
	Value               float64
}

// vcpuQuotas are EC2's quotas of running vCPUs:
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
var vcpuQuotas = map[string]string{
	"L-1216C47A": "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances",
	"L-417A185B": "Running On-Demand P instances",
	"L-DB2E81BA": "Running On-Demand G and VT instances",
	"L-74FC7D96": "Running On-Demand F instances",
	"L-6E869C2A": "Running On-Demand DL instances",
	"L-1945791B": "Running On-Demand Inf instances",
	"L-2C3B7624": "Running On-Demand Trn instances",
	"L-7295265B": "Running On-Demand X instances",
	"L-F7808C92": "Running On-Demand HPC instances",
	"L-43DA4232": "Running On-Demand High Memory instances",
	"L-34B43A08": "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests",
	"L-7212CCBC": "All P4, P3 and P2 Spot Instance Requests",
	"L-C4BD4855": "All P5 Spot Instance Requests",
	"L-3819A6DF": "All G and VT Spot Instance Requests",
	"L-88CF9481": "All F Spot Instance Requests",
	"L-85EED4F2": "All DL Spot Instance Requests",
	"L-B5D1601B": "All Inf Spot Instance Requests",
	"L-6B0D517C": "All Trn Spot Instance Requests",
	"L-E3A00192": "All X Spot Instance Requests",
}

// networkQuotas are those of networks, as new accounts have them:
// https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html
var networkQuotas = []Quota{
	{"vpc", "L-DF5E4CA3", "Network interfaces per Region", 5000},
	{"vpc", "L-FE5A380F", "NAT gateways per Availability Zone", 5},
	{"ec2", "L-0263D0A3", "EC2-VPC Elastic IPs", 5},
}

// SetQuota sets a quota, of EC2 if it names no service.
func (s *Service) SetQuota(q Quota) {
	q.Service = cmp.Or(q.Service, "ec2")
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.quotas, func(x Quota) bool { return x.Service == q.Service && x.Code == q.Code })
	if i < 0 {
		s.quotas = append(s.quotas, q)
		return
	}
	s.quotas[i].Value, s.quotas[i].Name = q.Value, cmp.Or(q.Name, s.quotas[i].Name)
}

// Quota is the value of one of EC2's quotas. It is false for one that there is not.
func (s *Service) Quota(code string) (float64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.quotas, func(x Quota) bool { return x.Service == "ec2" && x.Code == code })
	if i < 0 {
		return 0, false
	}
	return s.quotas[i].Value, true
}

type quotaRequest struct{ ServiceCode, QuotaCode string }

// The form of answers: https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_ServiceQuota.html
func (s *Service) form(q Quota) map[string]any {
	return map[string]any{
		"ServiceCode": q.Service, "ServiceName": q.Service, "QuotaCode": q.Code, "QuotaName": q.Name, "Value": q.Value, "Unit": "None", "Adjustable": true,
		"GlobalQuota": false, "QuotaArn": "arn:aws:servicequotas:" + s.opts.Region + ":" + s.opts.Account + ":" + q.Service + "/" + q.Code,
	}
}

func (s *Service) quota(c *wire.Call) (*wire.Answer, *wire.Error) {
	var r quotaRequest
	if err := c.Decode(&r); err != nil {
		return nil, wire.Errorf("IllegalArgumentException", "%v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.quotas {
		if q.Service == r.ServiceCode && q.Code == r.QuotaCode {
			return wire.JSON(map[string]any{"Quota": s.form(q)}), nil
		}
	}
	return nil, wire.Errorf("NoSuchResourceException", "The request failed because the specified quota code %s does not exist in %s.", r.QuotaCode, r.ServiceCode)
}

func (s *Service) listQuotas(c *wire.Call) (*wire.Answer, *wire.Error) {
	var r quotaRequest
	if err := c.Decode(&r); err != nil {
		return nil, wire.Errorf("IllegalArgumentException", "%v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []map[string]any{}
	slices.SortFunc(s.quotas, func(a, b Quota) int { return cmp.Compare(a.Code, b.Code) })
	for _, q := range s.quotas {
		if q.Service == r.ServiceCode {
			all = append(all, s.form(q))
		}
	}
	return wire.JSON(map[string]any{"Quotas": all}), nil
}

// usual is AWS's own value of each of EC2's quotas, as far as the double has them.
const usual = 5

// defaultQuota is GetAWSDefaultServiceQuota for EC2's quotas.
func (s *Service) defaultQuota(c *wire.Call) (*wire.Answer, *wire.Error) {
	var r quotaRequest
	if err := c.Decode(&r); err != nil {
		return nil, wire.Errorf("IllegalArgumentException", "%v", err)
	}
	name, ok := vcpuQuotas[r.QuotaCode]
	if !ok || r.ServiceCode != "ec2" {
		return nil, wire.Errorf("NoSuchResourceException", "The request failed because the specified quota code %s does not exist in %s.", r.QuotaCode, r.ServiceCode)
	}
	return wire.JSON(map[string]any{"Quota": s.form(Quota{Service: "ec2", Code: r.QuotaCode, Name: name, Value: usual})}), nil
}

// DropQuota takes the account's own value of one of EC2's quotas away, as it is where
// nobody ever asked for another one.
func (s *Service) DropQuota(code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quotas = slices.DeleteFunc(s.quotas, func(q Quota) bool { return q.Service == "ec2" && q.Code == code })
}
