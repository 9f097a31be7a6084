package cfn

// Policies are statements of IAM.
type Policies struct {
	Version   string
	Statement []Statement
}

// Statement allows or denies something.
type Statement struct {
	Sid       string `json:",omitempty"`
	Effect    string
	Principal *Principal `json:",omitempty"`
	Action    []string
	Resource  []Text `json:",omitempty"`
	// Condition has operators such as StringEquals, and in each of them keys with
	// their values.
	Condition map[string]map[string][]Text `json:",omitempty"`
}

// Principal is the one that a statement is about.
type Principal struct {
	AWS     string `json:",omitempty"`
	Service Text   `json:",omitzero"`
}

// Role is what a machine may do.
type Role struct {
	RoleName                 string `json:",omitempty"`
	Path                     string
	AssumeRolePolicyDocument Policies
	ManagedPolicyArns        []Text `json:",omitempty"`
	PermissionsBoundary      string `json:",omitempty"`
	Policies                 []RolePolicy
	Tags                     []Tag
}

// RolePolicy is a policy that only its role has.
type RolePolicy struct {
	PolicyName     string
	PolicyDocument Policies
}

// InstanceProfile gives instances a role.
type InstanceProfile struct {
	InstanceProfileName string `json:",omitempty"`
	Path                string
	Roles               []Text
}

// Type implements Properties.
func (Role) Type() string            { return "AWS::IAM::Role" }
func (InstanceProfile) Type() string { return "AWS::IAM::InstanceProfile" }
