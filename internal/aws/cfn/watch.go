package cfn

// LogGroup are logs that are kept for some days; 0 is for ever.
type LogGroup struct {
	LogGroupName    string
	RetentionInDays int `json:",omitempty"`
	Tags            []Tag
}

// Dashboard is a page of CloudWatch.
type Dashboard struct {
	DashboardName string
	DashboardBody Text
}

// Alarm watches a metric.
type Alarm struct {
	AlarmName, AlarmDescription string
	Namespace, MetricName       string
	Dimensions                  []Dimension
	Statistic                   string
	Period                      int
	EvaluationPeriods           int
	DatapointsToAlarm           int
	Threshold                   int
	ComparisonOperator          string
	TreatMissingData            string
	Tags                        []Tag
}

// Dimension says of what a metric is.
type Dimension struct {
	Name  string
	Value Text
}

// CompositeAlarm is one alarm over others.
type CompositeAlarm struct {
	AlarmName, AlarmDescription string
	AlarmRule                   Text
	Tags                        []Tag
}

// Stack is a template of the user's, made beside the cluster.
type Stack struct {
	TemplateURL string
	Tags        []Tag
}

// Type implements Properties.
func (Stack) Type() string          { return "AWS::CloudFormation::Stack" }
func (LogGroup) Type() string       { return "AWS::Logs::LogGroup" }
func (Dashboard) Type() string      { return "AWS::CloudWatch::Dashboard" }
func (Alarm) Type() string          { return "AWS::CloudWatch::Alarm" }
func (CompositeAlarm) Type() string { return "AWS::CloudWatch::CompositeAlarm" }
