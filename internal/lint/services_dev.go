package lint

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec"
)

// devSettings holds what ParallelCluster's schema and its
// ExtraChefAttributesValidator say of ExtraChefAttributes.
func devSettings(dev spec.View) {
	if data := dev.Key("InstanceTypesData"); filled(data) {
		if _, err := decode(data.Text()); err != nil {
			data.Errorf("dev/instance-types", "InstanceTypesData is not JSON: %v", err).WithHint(`write it as '{"p9.48xlarge": {...}}', what describe-instance-types says of each type`)
		}
	}
	v := dev.At("Cookbook.ExtraChefAttributes")
	if !filled(v) {
		return
	}
	attributes, err := decode(v.Text())
	if err != nil {
		v.Errorf("dev/attributes", "ExtraChefAttributes is not JSON: %v", err).WithHint(`write it as '{"cluster": {...}}'`)
		return
	}
	reconfigureTimeout(v, inside(attributes, "cluster", "slurm", "reconfigure_timeout"))
	readiness(v, inside(attributes, "cluster", "cluster_readiness_check_enabled"), readinessCheck{
		key: "cluster_readiness_check_enabled", careless: "false", effect: "a cluster counts as made although nodes have not come up with its configuration",
	})
	readiness(v, inside(attributes, "cluster", "cluster_readiness_check_ignore_failure"), readinessCheck{
		key: "cluster_readiness_check_ignore_failure", careless: "true", effect: "a cluster counts as made although its nodes failed",
	})
}

// decode reads one JSON value, numbers as they are written.
func decode(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errMoreJSON
	}
	return value, nil
}

type jsonError string

func (e jsonError) Error() string { return string(e) }

const errMoreJSON = jsonError("there is more behind the value")

// inside is the value at keys that lie in each other, nil if there is none.
func inside(value any, keys ...string) any {
	for _, key := range keys {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[key]
	}
	return value
}

// minReconfigure is what the timeout of a reconfiguration has to be above, in seconds.
const minReconfigure = 300

func reconfigureTimeout(v spec.View, value any) {
	if value == nil {
		return
	}
	number, ok := value.(json.Number)
	seconds, err := number.Int64()
	switch {
	case !ok || err != nil:
		v.Errorf("dev/attributes", "cluster.slurm.reconfigure_timeout must be a whole number").WithHint("write a number of seconds above %d", minReconfigure)
	case seconds <= minReconfigure:
		v.Errorf("dev/attributes", "cluster.slurm.reconfigure_timeout is %s", count.Of(seconds, "second")).WithHint("write more than %d", minReconfigure)
	}
}

// readinessCheck is an attribute of the check that nodes have come up.
type readinessCheck struct {
	key string
	// careless is the value that has the effect.
	careless, effect string
}

func readiness(v spec.View, value any, check readinessCheck) {
	var text string
	switch value := value.(type) {
	case nil:
		return
	case bool:
		text = map[bool]string{true: "true", false: "false"}[value]
	case string:
		text = strings.ToLower(value)
	}
	switch text {
	case check.careless:
		v.Warnf("dev/readiness", "with cluster.%s %s %s", check.key, text, check.effect).WithHint("remove it")
	case "true", "false":
	default:
		v.Errorf("dev/attributes", "cluster.%s must be true or false", check.key).WithHint("write true or false")
	}
}
