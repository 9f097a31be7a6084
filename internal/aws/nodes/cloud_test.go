package nodes_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// cloud is as much of EC2 and Route 53 as the fleet uses: it behaves as their
// documents say, over HTTP.
type cloud struct {
	url string

	mu        sync.Mutex // guards what follows
	instances []*instance
	tokens    map[string]*launch
	records   map[string]string
	calls     map[string]int
	// capacity is how many more instances a launch template has room for, if it is in
	// the map; free what is left of reservations.
	capacity, free map[string]int
	// blind hides instances that were launched from so many calls that describe them.
	blind int
	// interfaces is how many network interfaces an instance has.
	interfaces int
	// refuse are answers to the next calls of an action.
	refuse map[string][]refusal
	// status are items of DescribeInstanceStatus, by filter.
	status map[string]string
	// doubles are nodes that got an instance while they had one.
	doubles []string
	// cut is asked before and after each call whether the connection breaks there.
	cut func(when, action string) bool
}

type refusal struct {
	status        int
	code, message string
}

type instance struct {
	id, token, fleet, template, state string
	index, number, blind              int
	tags                              map[string]string
	launched                          time.Time
}

// launch is a call with a client token.
type launch struct {
	request   string
	instances []*instance
	fleet     string
}

func newCloud(t *testing.T) *cloud {
	c := &cloud{
		tokens: map[string]*launch{}, records: map[string]string{}, calls: map[string]int{}, capacity: map[string]int{}, free: map[string]int{},
		refuse: map[string][]refusal{}, status: map[string]string{}, cut: func(string, string) bool { return false },
	}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	form, _ := url.ParseQuery(string(body)) // Route 53 sends no form
	action := form.Get("Action")
	if strings.Contains(r.URL.Path, "/rrset") {
		action = "ChangeResourceRecordSets"
	}
	c.mu.Lock()
	cut := c.cut
	c.mu.Unlock()
	if cut("before", action) {
		panic(http.ErrAbortHandler)
	}
	status, answer := c.answer(action, form, body)
	if cut("never", action) {
		<-r.Context().Done() // until the caller gives up
		panic(http.ErrAbortHandler)
	}
	if cut("after", action) {
		panic(http.ErrAbortHandler)
	}
	if cut("half", action) {
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		_, _ = io.WriteString(w, answer[:len(answer)/2])
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answer) // who does not listen any more has been cut off
}

func (c *cloud) answer(action string, form url.Values, body []byte) (int, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[action]++
	if next := c.refuse[action]; len(next) > 0 {
		c.refuse[action] = next[1:]
		if action == "ChangeResourceRecordSets" {
			return next[0].status, fmt.Sprintf("<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>", next[0].code, next[0].message)
		}
		return fault(next[0])
	}
	switch action {
	case "RunInstances", "CreateFleet":
		return c.launch(action, form)
	case "DescribeInstances":
		return c.describe(form)
	case "DescribeFleets":
		return c.describeFleets(form.Get("FleetId.1"))
	case "TerminateInstances":
		return c.terminate(list(form, "InstanceId"))
	case "DescribeInstanceStatus":
		return 200, "<DescribeInstanceStatusResponse><instanceStatusSet>" + c.status[form.Get("Filter.1.Name")] + "</instanceStatusSet></DescribeInstanceStatusResponse>"
	case "DescribeCapacityReservations":
		return 200, fmt.Sprintf("<DescribeCapacityReservationsResponse><capacityReservationSet><item><availableInstanceCount>%d</availableInstanceCount></item></capacityReservationSet></DescribeCapacityReservationsResponse>",
			c.free[form.Get("CapacityReservationId.1")])
	case "CreateTags":
		c.find(form.Get("ResourceId.1")).tags[form.Get("Tag.1.Key")] = form.Get("Tag.1.Value")
		return 200, "<CreateTagsResponse><return>true</return></CreateTagsResponse>"
	case "ChangeResourceRecordSets":
		return c.change(body)
	}
	return fault(refusal{400, "InvalidAction", "no action " + action})
}

func fault(r refusal) (int, string) {
	return r.status, fmt.Sprintf("<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>r</RequestID></Response>", r.code, r.message)
}

func list(form url.Values, name string) (all []string) {
	for i := 1; form.Has(fmt.Sprintf("%s.%d", name, i)); i++ {
		all = append(all, form.Get(fmt.Sprintf("%s.%d", name, i)))
	}
	return all
}

func (c *cloud) find(id string) *instance {
	i := slices.IndexFunc(c.instances, func(i *instance) bool { return i.id == id })
	if i < 0 {
		return nil
	}
	return c.instances[i]
}

func (c *cloud) launch(action string, form url.Values) (int, string) {
	token := form.Get("ClientToken")
	if was := c.tokens[token]; was != nil {
		if was.request != form.Encode() {
			return fault(refusal{400, "IdempotentParameterMismatch", "the token was used for another request"})
		}
		return 200, c.launchAnswer(action, was)
	}
	template, least, most := form.Get("LaunchTemplate.LaunchTemplateName"), form.Get("MinCount"), form.Get("MaxCount")
	if action == "CreateFleet" {
		template = form.Get("LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName")
		least, most = form.Get("OnDemandOptions.MinTargetCapacity"), form.Get("TargetCapacitySpecification.TotalTargetCapacity")
	}
	low, _ := strconv.Atoi(least) // none is 0
	n, _ := strconv.Atoi(most)
	if room, limited := c.capacity[template]; limited {
		if room < max(low, 1) {
			if action == "CreateFleet" {
				return 200, "<CreateFleetResponse><fleetId>fleet-0</fleetId><errorSet><item><errorCode>InsufficientInstanceCapacity</errorCode><errorMessage>none left</errorMessage></item></errorSet></CreateFleetResponse>"
			}
			return fault(refusal{500, "InsufficientInstanceCapacity", "We currently do not have sufficient capacity"})
		}
		n = min(n, room)
		c.capacity[template] -= n
	}
	l := &launch{request: form.Encode()}
	if action == "CreateFleet" {
		l.fleet = fmt.Sprintf("fleet-%d", len(c.tokens)+1)
	}
	tags := map[string]string{}
	for i := 1; form.Has(fmt.Sprintf("TagSpecification.1.Tag.%d.Key", i)); i++ {
		tags[form.Get(fmt.Sprintf("TagSpecification.1.Tag.%d.Key", i))] = form.Get(fmt.Sprintf("TagSpecification.1.Tag.%d.Value", i))
	}
	for i := range n {
		number := len(c.instances) + 1
		// IDs come in no order.
		one := &instance{id: fmt.Sprintf("i-%08x%08x", uint32(number)*2654435761, number), token: token, template: template, state: "pending",
			index: i, number: number, blind: c.blind, tags: maps.Clone(tags), launched: time.Now().UTC().Truncate(time.Second), fleet: l.fleet}
		if l.fleet != "" {
			one.tags["aws:ec2:fleet-id"], one.index = l.fleet, 0
		}
		c.instances, l.instances = append(c.instances, one), append(l.instances, one)
	}
	c.tokens[token] = l
	c.noteDoubles(l)
	return 200, c.launchAnswer(action, l)
}

func (c *cloud) launchAnswer(action string, l *launch) string {
	if action == "RunInstances" {
		return "<RunInstancesResponse><instancesSet>" + c.items(l.instances) + "</instancesSet></RunInstancesResponse>"
	}
	return "<CreateFleetResponse><fleetId>" + l.fleet + "</fleetId><fleetInstanceSet><item><instanceIds>" + ids(l) + "</instanceIds></item></fleetInstanceSet></CreateFleetResponse>"
}

func ids(l *launch) string {
	var b strings.Builder
	for _, i := range l.instances {
		fmt.Fprintf(&b, "<item>%s</item>", i.id)
	}
	return b.String()
}

func (c *cloud) describeFleets(id string) (int, string) {
	for _, l := range c.tokens {
		if l.fleet == id {
			return 200, "<DescribeFleetsResponse><fleetSet><item><fleetId>" + id + "</fleetId><fleetInstanceSet><item><instanceIds>" + ids(l) +
				"</instanceIds></item></fleetInstanceSet></item></fleetSet></DescribeFleetsResponse>"
		}
	}
	return fault(refusal{400, "InvalidFleetId.NotFound", "no fleet " + id})
}

func (c *cloud) items(all []*instance) string {
	var b strings.Builder
	for _, i := range all {
		fmt.Fprintf(&b, "<item><instanceId>%s</instanceId><instanceState><name>%s</name></instanceState><amiLaunchIndex>%d</amiLaunchIndex><launchTime>%s</launchTime><privateIpAddress>%s</privateIpAddress><tagSet>",
			i.id, i.state, i.index, i.launched.Format(time.RFC3339), i.address())
		for k, v := range i.tags {
			fmt.Fprintf(&b, "<item><key>%s</key><value>%s</value></item>", k, v)
		}
		b.WriteString("</tagSet><networkInterfaceSet>")
		for range c.interfaces {
			b.WriteString(oneInterface)
		}
		b.WriteString("</networkInterfaceSet></item>")
	}
	return b.String()
}

func (i *instance) address() string { return fmt.Sprintf("10.0.%d.%d", i.number/250, i.number%250+1) }

// oneInterface is what EC2 says of one.
const oneInterface = "<item><networkInterfaceId>eni-0123456789abcdef0</networkInterfaceId><subnetId>subnet-0123456789abcdef0</subnetId><vpcId>vpc-0123456789abcdef0</vpcId>" +
	"<description>interface of a compute node</description><ownerId>123456789012</ownerId><status>in-use</status><macAddress>02:00:00:00:00:01</macAddress>" +
	"<privateIpAddress>10.0.1.1</privateIpAddress><privateDnsName>ip-10-0-1-1.us-east-2.compute.internal</privateDnsName><sourceDestCheck>true</sourceDestCheck>" +
	"<groupSet><item><groupId>sg-0123456789abcdef0</groupId><groupName>ComputeSecurityGroup</groupName></item></groupSet><attachment><attachmentId>eni-attach-0123456789abcdef0</attachmentId>" +
	"<deviceIndex>1</deviceIndex><status>attached</status><attachTime>2026-11-21T20:11:12.000Z</attachTime><deleteOnTermination>true</deleteOnTermination><networkCardIndex>7</networkCardIndex></attachment>" +
	"<privateIpAddressesSet><item><privateIpAddress>10.0.1.1</privateIpAddress><primary>true</primary></item></privateIpAddressesSet><ipv6AddressesSet/><interfaceType>efa-only</interfaceType></item>"

func (c *cloud) describe(form url.Values) (int, string) {
	var shown []*instance
	for _, i := range c.instances {
		if i.blind > 0 {
			i.blind--
			continue
		}
		if i.matches(form) {
			shown = append(shown, i)
		}
	}
	at, _ := strconv.Atoi(form.Get("NextToken")) // none is 0
	most, _ := strconv.Atoi(form.Get("MaxResults"))
	next := ""
	if at+most < len(shown) {
		next = fmt.Sprintf("<nextToken>%d</nextToken>", at+most)
	}
	return 200, "<DescribeInstancesResponse><reservationSet><item><instancesSet>" + c.items(shown[at:min(at+most, len(shown))]) + "</instancesSet></item></reservationSet>" + next + "</DescribeInstancesResponse>"
}

func (i *instance) matches(form url.Values) bool {
	for n := 1; form.Has(fmt.Sprintf("Filter.%d.Name", n)); n++ {
		name, values := form.Get(fmt.Sprintf("Filter.%d.Name", n)), list(form, fmt.Sprintf("Filter.%d.Value", n))
		got := map[string]string{"instance-id": i.id, "instance-state-name": i.state}[name]
		if key, ok := strings.CutPrefix(name, "tag:"); ok {
			got = i.tags[key]
		}
		if !slices.Contains(values, got) {
			return false
		}
	}
	return true
}

func (c *cloud) terminate(all []string) (int, string) {
	var missing []string
	for _, id := range all {
		if i := c.find(id); i == nil || i.blind > 0 {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		return fault(refusal{400, "InvalidInstanceID.NotFound", "The instance IDs '" + strings.Join(missing, ", ") + "' do not exist"})
	}
	for _, id := range all {
		c.find(id).state = "shutting-down"
	}
	return 200, "<TerminateInstancesResponse><instancesSet/></TerminateInstancesResponse>"
}

// living are the instances that cost money.
func (c *cloud) living() []*instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.instances), func(i *instance) bool { return i.state != "pending" && i.state != "running" })
}

// node is whose an instance is, as its tags and its place among the others of its
// launch say.
func (c *cloud) node(i *instance) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodeOf(i)
}

func (c *cloud) nodeOf(i *instance) string {
	list := i.tags["muster:nodes"]
	for part := 1; i.tags[fmt.Sprintf("muster:nodes.%d", part)] != ""; part++ {
		list += i.tags[fmt.Sprintf("muster:nodes.%d", part)]
	}
	nodes, err := slurm.Expand(list)
	if err != nil {
		return err.Error()
	}
	index := i.index
	if i.fleet != "" {
		var all []string
		for _, one := range c.tokens[i.token].instances {
			all = append(all, one.id)
		}
		slices.Sort(all)
		index = slices.Index(all, i.id)
	}
	return nodes[index]
}

func (c *cloud) noteDoubles(l *launch) {
	of := map[string]int{}
	for _, i := range c.instances {
		if i.state == "pending" || i.state == "running" {
			of[c.nodeOf(i)]++
		}
	}
	for _, i := range l.instances {
		if n := c.nodeOf(i); of[n] > 1 {
			c.doubles = append(c.doubles, n)
		}
	}
}

// breaks sets where connections break; nil is nowhere.
func (c *cloud) breaks(cut func(when, action string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cut == nil {
		cut = func(string, string) bool { return false }
	}
	c.cut = cut
}

// kill ends an instance as a fault does.
func (c *cloud) kill(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.find(id).state = "terminated"
}

func (c *cloud) called(action string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[action]
}
