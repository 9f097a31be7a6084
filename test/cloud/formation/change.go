package formation

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// proposal is what a call wants a stack to be.
type proposal struct {
	body string
	t    *template
	args given
	tags map[string]string
	caps []string
}

// Sizes of templates:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
const (
	mostBody   = 51_200
	mostObject = 1_048_576
)

// body is the template of a call, or empty.
func (s *Service) body(ctx context.Context, r request) (string, error) {
	if b := r.text("TemplateBody"); b != "" {
		if len(b) > mostBody {
			return "", invalid("1 validation error detected: Value '%s' at 'templateBody' failed to satisfy constraint: Member must have length less than or equal to %d", b, mostBody)
		}
		return b, nil
	}
	where := r.text("TemplateURL")
	if where == "" {
		return "", nil
	}
	bucket, key, err := object(where)
	if err != nil {
		return "", err
	}
	got, err := s.aws.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return "", invalid("S3 error: %s\nFor more information check http://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html", strings.TrimSpace(message(err)))
	}
	defer got.Body.Close()
	b, err := io.ReadAll(io.LimitReader(got.Body, mostObject+1))
	if err != nil {
		return "", err
	}
	if len(b) > mostObject {
		return "", invalid("Template may not exceed %d bytes in size.", mostObject)
	}
	return string(b), nil
}

// object takes the address of an object apart: the bucket is in the host's name, or
// at the beginning of the path.
func object(where string) (bucket, key string, err error) {
	u, err := url.Parse(where)
	bad := invalid("TemplateURL must be a supported URL.")
	if err != nil || u.Host == "" {
		return "", "", bad
	}
	path := strings.TrimPrefix(u.Path, "/")
	host := u.Hostname()
	if i := strings.Index(host, ".s3"); i > 0 {
		return host[:i], path, nil
	}
	bucket, key, ok := strings.Cut(path, "/")
	if !ok || key == "" {
		return "", "", bad
	}
	return bucket, key, nil
}

// propose reads and checks what a call wants. Before is the stack as it is, or nil.
func (s *Service) propose(ctx context.Context, r request, before *stack) (*proposal, error) {
	p := &proposal{tags: map[string]string{}, caps: r.list("Capabilities")}
	var err error
	if p.body, err = s.body(ctx, r); err != nil {
		return nil, err
	}
	var old given
	if before != nil {
		s.locked(func() {
			old = before.args
			if r.yes("UsePreviousTemplate") {
				p.body = before.body
			}
			if r.structs("Tags") == nil {
				maps.Copy(p.tags, before.tags)
			}
		})
	}
	if p.body == "" {
		return nil, invalid("Either Template URL or Template Body must be specified.")
	}
	for _, tag := range r.structs("Tags") {
		p.tags[tag["Key"]] = tag["Value"]
	}
	if p.t, err = parse(p.body); err != nil {
		return nil, err
	}
	if p.args, err = r.arguments(p.t, old); err != nil {
		return nil, err
	}
	return p, p.capable()
}

// capable checks that the caller has acknowledged what the template can do.
func (p *proposal) capable() error {
	for _, need := range p.t.capabilities() {
		if !slices.Contains(p.caps, need) && !slices.Contains(p.caps, "CAPABILITY_NAMED_IAM") {
			return wire.Errorf("InsufficientCapabilitiesException", "Requires capabilities : [%s]", need)
		}
	}
	return nil
}

func (st *stack) become(p *proposal) {
	st.body, st.t, st.args, st.tags, st.caps = p.body, p.t, p.args, p.tags, p.caps
}

// policy is what a call says should follow a failure.
func (r request) policy() (failurePolicy, error) {
	p := failurePolicy{onFailure: cmp.Or(r.text("OnFailure"), r.text("OnStackFailure"), "ROLLBACK")}
	if r.has("DisableRollback") && r.has("OnFailure") {
		return p, invalid("Only one of DisableRollback and OnFailure can be specified") // our words
	}
	if r.yes("DisableRollback") {
		p.onFailure = "DO_NOTHING"
	}
	return p, nil
}

var pattern = func(name string) bool {
	return len(name) <= 128 && logicalID(strings.ReplaceAll(name, "-", "")) && !strings.ContainsAny(name[:1], "0123456789-")
}

// add makes a stack without resources. Service.mu is held.
func (s *Service) add(r request, name string, p *proposal) (*stack, error) {
	if !pattern(name) {
		return nil, invalid("1 validation error detected: Value '%s' at 'stackName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*", name)
	}
	region := cmp.Or(r.Region, "us-east-1")
	st := &stack{name: name, account: s.aws.account, region: region, created: s.clock.Now(), resources: map[string]*resource{},
		id: fmt.Sprintf("arn:aws:cloudformation:%s:%s:stack/%s/%s", region, s.aws.account, name, uuid())}
	st.become(p)
	s.stacks = append(s.stacks, st)
	return st, nil
}

func (s *Service) createStack(ctx context.Context, r request) (fields, error) {
	name, token := r.text("StackName"), r.text("ClientRequestToken")
	p, err := s.propose(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	policy, err := r.policy()
	if err != nil {
		return nil, err
	}
	if err := s.aws.identify(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if id := s.tokens[token]; token != "" && id != "" {
		if st := s.find(id); st.name == name && st.body == p.body {
			return fields{"StackId": id}, nil
		}
		return nil, wire.Errorf("TokenAlreadyExistsException", "A client request token already exists.")
	}
	if s.find(name) != nil {
		return nil, wire.Errorf("AlreadyExistsException", "Stack [%s] already exists", name)
	}
	st, err := s.add(r, name, p)
	if err != nil {
		return nil, err
	}
	if token != "" {
		s.tokens[token] = st.id
	}
	st.protected, st.failure, st.token, st.role = r.yes("EnableTerminationProtection"), policy, token, r.text("RoleARN")
	st.set(s.clock.Now(), "CREATE_IN_PROGRESS", "User Initiated")
	s.start(st, func(ctx context.Context, op *operation) { s.createAll(ctx, st, op) })
	return fields{"StackId": st.id}, nil
}

// updatable says whether a stack can be updated as it is, with the failure policy of
// the update:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stack-failure-options.html
func (st *stack) updatable() error {
	switch st.status {
	case "CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE", "CREATE_FAILED", "UPDATE_FAILED":
		return nil
	}
	return invalid("Stack:%s is in %s state and can not be updated.", st.id, st.status)
}

func (s *Service) updateStack(ctx context.Context, r request) (fields, error) {
	name := r.text("StackName")
	var st *stack
	s.locked(func() { st = s.find(name) })
	if st == nil {
		return nil, invalid("Stack [%s] does not exist", name)
	}
	s.mu.Lock()
	token := r.text("ClientRequestToken")
	again, err := token != "" && st.token == token, st.updatable()
	s.mu.Unlock()
	if again {
		return fields{"StackId": st.id}, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := s.propose(ctx, r, st)
	if err != nil {
		return nil, err
	}
	policy, err := r.policy()
	if err != nil {
		return nil, err
	}
	some, err := s.differs(st, p)
	if err != nil {
		return nil, err
	}
	if !some {
		return nil, invalid("No updates are to be performed.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return fields{"StackId": st.id}, s.update(st, p, policy, token, "update-stack")
}

// differs says whether a proposal changes anything of a stack.
func (s *Service) differs(st *stack, p *proposal) (bool, error) {
	var moved []string
	s.locked(func() {
		for _, id := range slices.Sorted(maps.Keys(p.t.Resources)) {
			if have := st.resources[id]; have != nil && have.kind != p.t.Resources[id].Type {
				moved = append(moved, id)
			}
		}
	})
	if len(moved) > 0 {
		return false, invalid("Update of resource type is not permitted. The new template modifies resource type of the following resources: [%s]", strings.Join(moved, ", "))
	}
	changes, sc, err := s.plan(st, p.t, p.args, p.tags)
	if err != nil || len(changes) > 0 {
		return true, err
	}
	if canon(tagValue(st.tags)) != canon(tagValue(p.tags)) {
		return true, nil
	}
	sc.lookup, sc.export = s.reach(st), func(name string) (string, error) { return s.imported(st, name) }
	outputs, err := s.evaluate(st, sc)
	return fmt.Sprint(outputs) != fmt.Sprint(st.outputs), err
}

// update starts an update that a command asks for. Service.mu is held.
func (s *Service) update(st *stack, p *proposal, policy failurePolicy, token, command string) error {
	if err := st.updatable(); err != nil {
		return err
	}
	if (st.status == "CREATE_FAILED" || st.status == "UPDATE_FAILED") && policy.onFailure != "DO_NOTHING" {
		return invalid("This stack is currently in a non-terminal [%s] state. To update the stack from this state, please use the disable-rollback parameter with %s API. To rollback to the last known good state, use the rollback-stack API", st.status, command)
	}
	// What an update that failed and was kept goes back to is the last state that worked.
	if st.before == nil || st.status != "UPDATE_FAILED" {
		st.before = st.remember()
	}
	st.become(p)
	st.updated, st.failure, st.token = s.clock.Now(), policy, token
	st.set(s.clock.Now(), "UPDATE_IN_PROGRESS", "User Initiated")
	s.start(st, func(ctx context.Context, op *operation) { s.updateAll(ctx, st, op) })
	return nil
}

func (s *Service) deleteStack(_ context.Context, r request) (fields, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.find(r.text("StackName"))
	if st == nil || st.status == "DELETE_COMPLETE" {
		return nil, nil // CloudFormation deletes what is not there without an error
	}
	retain := r.list("RetainResources")
	switch export, by := s.importers(st); {
	case st.protected:
		return nil, invalid("Stack [%s] cannot be deleted while TerminationProtection is enabled", st.name)
	case st.status == "DELETE_IN_PROGRESS":
		return nil, nil
	case st.busy() && st.status != "CREATE_IN_PROGRESS" && st.status != "ROLLBACK_IN_PROGRESS":
		return nil, invalid("Stack [%s] cannot be deleted while in status %s", st.id, st.status)
	case len(retain) > 0 && st.status != "DELETE_FAILED":
		return nil, invalid("Invalid operation on stack [%s]. RetainResources can only be specified for a stack in DELETE_FAILED state.", st.id) // our words
	case len(by) > 0:
		st.set(s.clock.Now(), st.status, fmt.Sprintf("Delete canceled. Cannot delete export %s as it is in use by %s.", export, strings.Join(by, ", ")))
		return nil, nil
	}
	before := st.running
	st.token = r.text("ClientRequestToken")
	st.set(s.clock.Now(), "DELETE_IN_PROGRESS", "User Initiated")
	s.start(st, func(ctx context.Context, op *operation) {
		if before != nil {
			before.cancel()
			<-before.done
		}
		s.deleteAll(ctx, st, op, retain)
	})
	return nil, nil
}

func (s *Service) protect(st *stack, r request) (fields, error) {
	st.protected = r.yes("EnableTerminationProtection")
	return fields{"StackId": st.id}, nil
}
