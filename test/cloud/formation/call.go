package formation

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/efs"
	"github.com/aws/aws-sdk-go-v2/service/fsx"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/route53"
)

// Most of what is done to a resource is a call whose request has the properties of the
// template, and whose answer has the resource's ID and attributes. Here is the one way
// in which such calls are made; a type's row in kinds says which they are.

// work is something that is done to a resource.
type work func(context.Context, *job) error

// props are values by name: a template's properties, or the fields of a request.
type props = map[string]any

// ask makes a call of the SDK; the fields of its request are those of the properties.
func ask[I, O, R any](ctx context.Context, call func(context.Context, *I, ...func(*O)) (*R, error), with props, renames map[string]string) (*R, error) {
	in := new(I)
	if err := fill(in, with, renames); err != nil {
		return nil, err
	}
	return call(ctx, in)
}

// tell makes a call whose answer says nothing.
func tell[I, O, R any](ctx context.Context, call func(context.Context, *I, ...func(*O)) (*R, error), with props) error {
	_, err := ask(ctx, call, with, nil)
	return err
}

// bound is a client's method as tell takes it.
func bound[C, I, O, R any](c C, call func(C, context.Context, *I, ...func(*O)) (*R, error)) func(context.Context, *I, ...func(*O)) (*R, error) {
	return func(ctx context.Context, in *I, o ...func(*O)) (*R, error) { return call(c, ctx, in, o...) }
}

func onEC2(c *clients) *ec2.Client                  { return c.ec2 }
func onIAM(c *clients) *iam.Client                  { return c.iam }
func onFSx(c *clients) *fsx.Client                  { return c.fsx }
func onEFS(c *clients) *efs.Client                  { return c.efs }
func onRoute53(c *clients) *route53.Client          { return c.route53 }
func onLogs(c *clients) *cloudwatchlogs.Client      { return c.logs }
func onWatch(c *clients) *cloudwatch.Client         { return c.watch }
func onFormation(c *clients) *cloudformation.Client { return c.nested }

// all does several things one after the other, up to the first failure.
func all(steps ...work) work {
	return func(ctx context.Context, j *job) error {
		for _, f := range steps {
			if err := f(ctx, j); err != nil {
				return err
			}
		}
		return nil
	}
}

// undone does what a change to no properties would do.
func undone(f work) work {
	return func(ctx context.Context, j *job) error {
		bare := *j
		bare.old, bare.props = j.props, props{}
		return f(ctx, &bare)
	}
}

// recipe says how properties become a request, and its answer a resource.
type recipe struct {
	tags    string   // EC2's word for the resource, whose tags stand apart; or Tags
	apart   []string // properties that other calls are for
	renames map[string]string
	name    string // the property for which there is a name if the template has none
	most    int    // characters of that name
	token   string // the field for a client's token
	in      string // the member of the answer that is the resource
	id      string
	att     string // attributes; A=B where the answer has another name for it
}

// makes is the call that makes a resource.
func makes[C, I, O, R any](of func(*clients) C, call func(C, context.Context, *I, ...func(*O)) (*R, error), r recipe) work {
	return func(ctx context.Context, j *job) error {
		out, err := ask(ctx, bound(of(j.aws), call), r.request(j), r.renames)
		if err != nil {
			return err
		}
		r.keep(j, reflect.ValueOf(out).Elem())
		return nil
	}
}

func (r recipe) request(j *job) props {
	out := without(j.props, r.apart...)
	if r.tags != "" {
		delete(out, j.tagged())
		maps.Copy(out, tagging(r.tags, j.labels()))
	}
	if r.name != "" && out[r.name] == nil {
		out[r.name] = j.generated(r.most)
	}
	if r.token != "" {
		out[r.token] = uuid()
	}
	return out
}

// tagging are the fields of a request with the tags of what it makes.
func tagging(kind string, tags map[string]string) props {
	switch all := tagsOf(tags); {
	case all == nil:
		return nil
	case kind == "Tags":
		return props{"Tags": all}
	default:
		return props{"TagSpecifications": []any{props{"ResourceType": kind, "Tags": all}}}
	}
}

func (r recipe) keep(j *job, answer reflect.Value) {
	if r.in != "" {
		answer = reflect.Indirect(answer.FieldByName(r.in))
	}
	if r.id != "" {
		j.id = textAt(answer, r.id)
	}
	for name := range strings.FieldsSeq(r.att) {
		name, field, ok := strings.Cut(name, "=")
		if !ok {
			field = name
		}
		j.att[name] = textAt(answer, field)
	}
}

// textAt is a field of an answer as text, and empty if it is not set.
func textAt(answer reflect.Value, field string) string {
	v := reflect.Indirect(answer.FieldByName(field))
	if !v.IsValid() {
		return ""
	}
	return fmt.Sprint(v.Interface())
}

// sends is a call with the resource's properties, or with some of them. It has failed
// with none of the given codes.
func sends[C, I, O, R any](of func(*clients) C, call func(C, context.Context, *I, ...func(*O)) (*R, error), only []string, well ...string) work {
	return func(ctx context.Context, j *job) error {
		with := props{}
		for name, v := range j.props {
			if only == nil || slices.Contains(only, name) {
				with[name] = v
			}
		}
		err := tell(ctx, bound(of(j.aws), call), with)
		if slices.Contains(well, code(err)) {
			return nil
		}
		return err
	}
}

// removes is the call that removes the resource of an ID.
func removes[C, I, O, R any](of func(*clients) C, call func(C, context.Context, *I, ...func(*O)) (*R, error), name string) work {
	return func(ctx context.Context, j *job) error {
		return tell(ctx, bound(of(j.aws), call), byID[I](name, j.id))
	}
}

// byID is a request about one resource: some take a list of IDs.
func byID[I any](name, id string) props {
	if f, ok := reflect.TypeFor[I]().FieldByName(name); ok && f.Type.Kind() == reflect.Slice {
		return props{name: []any{id}}
	}
	return props{name: id}
}

// looks gives the state of a resource; it is empty if the list that is the answer is.
func looks[C, I, O, R any](of func(*clients) C, call func(C, context.Context, *I, ...func(*O)) (*R, error), name, list, state string) func(context.Context, *job) (string, error) {
	return func(ctx context.Context, j *job) (string, error) {
		out, err := ask(ctx, bound(of(j.aws), call), byID[I](name, j.id), nil)
		if err != nil {
			return "", err
		}
		all := reflect.ValueOf(out).Elem().FieldByName(list)
		if all.Len() == 0 {
			return "", nil
		}
		return textAt(all.Index(0), state), nil
	}
}

// is says whether a resource is in one of some states.
func is(state func(context.Context, *job) (string, error), good ...string) func(context.Context, *job) (bool, error) {
	return func(ctx context.Context, j *job) (bool, error) {
		got, err := state(ctx, j)
		return err == nil && slices.Contains(good, got), err
	}
}

// sets makes a call for each of some properties that changed: it takes one, as {"Value": …}.
func sets[C, I, O, R any](of func(*clients) C, call func(C, context.Context, *I, ...func(*O)) (*R, error), id string, names ...string) work {
	return func(ctx context.Context, j *job) error {
		for _, name := range names {
			if j.props[name] == nil || !j.changed(name) {
				continue
			}
			if err := tell(ctx, bound(of(j.aws), call), props{id: j.id, name: props{"Value": j.props[name]}}); err != nil {
				return err
			}
		}
		return nil
	}
}

// exchange takes away and adds what an update changes of a list, one in a call.
func exchange[I1, O1, R1, I2, O2, R2 any](ctx context.Context, j *job, list string, takeAway func(context.Context, *I1, ...func(*O1)) (*R1, error),
	add func(context.Context, *I2, ...func(*O2)) (*R2, error), id, field string) error {
	added, removed := moved(j, list)
	for _, one := range removed {
		if err := tell(ctx, takeAway, props{id: j.id, field: one}); ignoreMissing(err) != nil {
			return err
		}
	}
	for _, one := range added {
		if err := tell(ctx, add, props{id: j.id, field: one}); err != nil {
			return err
		}
	}
	return nil
}

// relabels brings the tags of what a field of both calls names up to date.
func relabels[I1, O1, R1, I2, O2, R2 any](ctx context.Context, j *job, untag func(context.Context, *I1, ...func(*O1)) (*R1, error),
	tag func(context.Context, *I2, ...func(*O2)) (*R2, error), field, of string) error {
	set, unset := j.relabelled()
	if len(unset) > 0 {
		if err := tell(ctx, untag, props{field: of, "TagKeys": list(unset)}); err != nil {
			return err
		}
	}
	if len(set) == 0 {
		return nil
	}
	return tell(ctx, tag, props{field: of, "Tags": tagsOf(set)})
}
