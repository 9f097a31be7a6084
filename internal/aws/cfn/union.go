package cfn

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Union is a template with everything of a former one that has left it: what later
// stacks still use can stay until they have changed, too. wider says that something
// has left; if not, the result is the template itself.
func Union(next, former []byte) (body []byte, wider bool, err error) {
	var now, then map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(next, &now), json.Unmarshal(former, &then)); err != nil {
		return nil, false, fmt.Errorf("read a template: %w", err)
	}
	for _, section := range []string{"Parameters", "Resources", "Outputs"} {
		there, was := map[string]json.RawMessage{}, map[string]json.RawMessage{}
		if err := errors.Join(read(now[section], &there), read(then[section], &was)); err != nil {
			return nil, false, fmt.Errorf("read the %s of a template: %w", section, err)
		}
		for name, value := range was {
			if _, ok := there[name]; !ok {
				there[name], wider = value, true
			}
		}
		if len(there) == 0 {
			continue
		}
		if now[section], err = marshal(there); err != nil {
			return nil, false, err
		}
	}
	if !wider {
		return next, false, nil
	}
	body, err = marshal(now)
	return body, true, err
}

// read is json.Unmarshal of what may be absent.
func read(body json.RawMessage, into any) error {
	if len(body) == 0 {
		return nil
	}
	return json.Unmarshal(body, into)
}
