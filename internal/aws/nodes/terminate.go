package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// endAtOnce is the most instances of one TerminateInstances call that EC2 advises.
const endAtOnce = 1000

// ids finds the IDs of instances in a message of EC2's, whole is that the text is nothing else.
var (
	ids     = pattern.New(`i-[0-9a-f]{8,17}`)
	wholeID = pattern.New(`^i-[0-9a-f]{8,17}$`)
)

// Terminate implements provider.Provider. When EC2 has accepted the end of an
// instance, it is no longer paid for.
func (f *Fleet) Terminate(ctx context.Context, nodes []string) error {
	if len(nodes) == 0 {
		return ctx.Err()
	}
	if err := f.prepare(ctx); err != nil {
		return err
	}
	if err := f.awaitLaunches(ctx, nodes); err != nil {
		return err
	}
	return f.end(ctx, f.instancesOf(nodes))
}

// instancesOf returns the instances of nodes, each once, whose end is news no more. An ID stands for itself.
func (f *Fleet) instancesOf(nodes []string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, n := range nodes {
		if id, alive := f.of[n]; alive {
			all = append(all, id)
		} else if wholeID().MatchString(n) {
			all = append(all, n)
		}
	}
	all = distinct(all)
	for _, id := range all {
		if m := f.machines[id]; m != nil {
			m.asked = true
		}
	}
	return all
}

// awaitLaunches waits until none of the nodes is being launched.
func (f *Fleet) awaitLaunches(ctx context.Context, nodes []string) error {
	for _, n := range nodes {
		f.mu.Lock()
		c := f.claims[n]
		f.mu.Unlock()
		if c == nil {
			continue
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// end ends instances by ID.
func (f *Fleet) end(ctx context.Context, all []string) error {
	var failures []error
	for some := range slices.Chunk(all, endAtOnce) {
		ended, early, err := f.terminateKnown(ctx, some)
		f.buried(ended)
		if len(early) > 0 {
			err = errors.Join(err, fmt.Errorf("end %s: EC2 does not know it yet", strings.Join(early, ", ")))
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// terminateKnown ends those of the instances that EC2 knows: one that it does not
// know lets the whole call fail. early are those that it does not know yet, since
// they were launched just now.
func (f *Fleet) terminateKnown(ctx context.Context, left []string) (ended, early []string, err error) {
	for len(left) > 0 {
		_, err := f.clients.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: left})
		if err == nil {
			return append(ended, left...), early, nil
		}
		missing := unknownIDs(err, left)
		if len(missing) == 0 {
			return ended, early, fmt.Errorf("end %s: %w", count.Of(len(left), "instance"), err)
		}
		for _, id := range missing {
			if f.young(id) {
				early = append(early, id)
			} else {
				ended = append(ended, id)
			}
		}
		left = slices.DeleteFunc(slices.Clone(left), func(id string) bool { return slices.Contains(missing, id) })
	}
	return ended, early, nil
}

// unknownIDs are the instances that EC2 says it does not know.
func unknownIDs(err error, of []string) []string {
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != "InvalidInstanceID.NotFound" {
		return nil
	}
	return common(of, ids().FindAllString(api.ErrorMessage(), -1))
}

// young tells whether EC2 may not show an instance yet.
func (f *Fleet) young(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.machines[id]
	return m != nil && !m.shown && f.Now().Sub(m.learned) < f.Limits.Lag
}

// buried forgets machines that have ended.
func (f *Fleet) buried(all []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range all {
		if m := f.machines[id]; m != nil {
			f.names.forget(m.Node, m.Address)
		}
		f.drop(id)
		f.over[id] = f.Now()
	}
}

// tag writes a tag of an instance.
func (c *clients) tag(ctx context.Context, id, key, value string) error {
	_, err := c.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String(key), Value: aws.String(value)}}})
	return err
}
