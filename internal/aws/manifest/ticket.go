package manifest

// Ticket is what a machine is told in its user data: enough to fetch muster, prove
// that it is the right one, and go on. It has no secrets: user data can be read by
// every user of the machine.
//
// In a template, values may be CloudFormation's ${Name}, which Fn::Sub fills in.
type Ticket struct {
	Cluster string `json:"cluster"`
	Region  string `json:"region"`
	Bucket  string `json:"bucket"`
	// Role is head, compute or login.
	Role    string  `json:"role"`
	Program Program `json:"program"`
	// Head is the head node's private address; the head node's own ticket has none.
	Head string `json:"head,omitempty"`
	// Queue and Resource are a compute node's.
	Queue    string `json:"queue,omitempty"`
	Resource string `json:"resource,omitempty"`
	// ZoneName is the Route 53 zone of the nodes' names, unless names are not managed.
	// Zone, its ID, is for the head node alone, which writes them.
	Zone     string `json:"zone,omitempty"`
	ZoneName string `json:"zone_name,omitempty"`
}

// Roles of machines.
const (
	RoleHead    = "head"
	RoleCompute = "compute"
	RoleLogin   = "login"
)
