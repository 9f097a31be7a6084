package spec

import "reflect"

// fill reads the fields of a struct that have a tag such as key:"Efa.Enabled", each from
// the value at those keys below v. The key must be in the schema.
func (v View) fill(model any) {
	s := reflect.ValueOf(model).Elem()
	for i := range s.NumField() {
		if key, ok := s.Type().Field(i).Tag.Lookup("key"); ok {
			v.At(key).set(s.Field(i))
		}
	}
}

// set reads one field. Pointers stay nil where the file does not have the value. Types
// for which the tags do not suffice have a method build.
func (v View) set(field reflect.Value) {
	if own, ok := field.Addr().Interface().(interface{ build(View) }); ok {
		own.build(v)
		return
	}
	switch field.Kind() {
	case reflect.String:
		field.SetString(v.Text())
	case reflect.Int:
		field.SetInt(int64(v.Int()))
	case reflect.Float64:
		field.SetFloat(v.Float())
	case reflect.Bool:
		field.SetBool(v.Bool())
	case reflect.Struct:
		v.fill(field.Addr().Interface())
	case reflect.Pointer:
		if v.Present() {
			field.Set(reflect.New(field.Type().Elem()))
			v.set(field.Elem())
		}
	case reflect.Slice:
		v.setList(field)
	default:
		panic("no value of the file is a " + field.Type().String())
	}
}

func (v View) setList(field reflect.Value) {
	if texts, ok := field.Addr().Interface().(*[]string); ok {
		*texts = v.Texts()
		return
	}
	for _, item := range v.Items() {
		element := reflect.New(field.Type().Elem()).Elem()
		item.set(element)
		field.Set(reflect.Append(field, element))
	}
}
