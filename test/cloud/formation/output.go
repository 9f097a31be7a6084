package formation

import (
	"maps"
	"slices"
)

// evaluate gives a stack's outputs.
func (s *Service) evaluate(st *stack, sc *scope) ([]fields, error) {
	var out []fields
	for _, name := range slices.Sorted(maps.Keys(sc.t.Outputs)) {
		o := sc.t.Outputs[name]
		if o.Condition != "" {
			yes, err := sc.condition(o.Condition)
			if err != nil {
				return nil, err
			}
			if !yes {
				continue
			}
		}
		v, err := sc.value(o.Value)
		if err != nil {
			return nil, err
		}
		f := fields{"OutputKey": name, "OutputValue": text(v), "Description": o.Description}
		if o.Export != nil {
			v, err := sc.value(o.Export.Name)
			if err != nil {
				return nil, err
			}
			if other := s.exporter(text(v)); other != nil && other != st {
				return nil, reason("Export with name %s is already exported by stack %s.", text(v), other.name)
			}
			f["ExportName"] = text(v)
		}
		out = append(out, f)
	}
	return out, nil
}

// exporter is the stack that exports a name.
func (s *Service) exporter(name string) (found *stack) {
	s.locked(func() {
		for _, st := range s.stacks {
			if st.status != "DELETE_COMPLETE" && slices.ContainsFunc(st.outputs, func(o fields) bool { return o["ExportName"] == name }) {
				found = st
			}
		}
	})
	return found
}

func (s *Service) imported(by *stack, name string) (string, error) {
	from := s.exporter(name)
	if from == nil {
		return "", invalid("No export named %s found.", name)
	}
	var v string
	s.locked(func() {
		if by.imports == nil {
			by.imports = map[string]bool{}
		}
		by.imports[name] = true
		for _, o := range from.outputs {
			if o["ExportName"] == name {
				v = text(o["OutputValue"])
			}
		}
	})
	return v, nil
}

// importers are the names of stacks that use an export of this one. Service.mu is held.
func (s *Service) importers(st *stack) (export string, by []string) {
	for _, o := range st.outputs {
		name := text(o["ExportName"])
		for _, other := range s.stacks {
			if name != "" && other.imports[name] && other.status != "DELETE_COMPLETE" {
				export, by = name, append(by, other.name)
			}
		}
	}
	return export, by
}
