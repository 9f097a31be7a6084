package cfn

import "strings"

// Text is a text, or a function of CloudFormation's that gives one. The zero value
// is absent.
type Text struct{ value any }

// Lit is a text as it is.
func Lit(text string) Text { return Text{text} }

// Lits are texts as they are.
func Lits(texts ...string) []Text {
	var out []Text
	for _, t := range texts {
		out = append(out, Lit(t))
	}
	return out
}

// Ref is a parameter's value, or what a resource is called.
func Ref(id string) Text { return Text{object{{"Ref", id}}} }

// Att is an attribute of a resource, such as Arn.
func Att(id, attribute string) Text {
	return Text{object{{"Fn::GetAtt", []string{id, attribute}}}}
}

// Sub is a text in which ${ID}, ${ID.Attribute} and ${AWS::Region} are filled in.
// A text without any is left as it is.
func Sub(text string) Text {
	if !strings.Contains(text, "${") {
		return Lit(text)
	}
	return Text{object{{"Fn::Sub", text}}}
}

// Literal is a text with which Sub gives the text itself.
func Literal(text string) string { return strings.ReplaceAll(text, "${", "${!") }

// Base64 is a text in base64, as user data has to be.
func Base64(t Text) Text { return Text{object{{"Fn::Base64", t}}} }

// IsZero reports whether the text is absent.
func (t Text) IsZero() bool { return t.value == nil }

// Literal is the text of a Lit; it is false for functions.
func (t Text) Literal() (string, bool) {
	s, ok := t.value.(string)
	return s, ok
}

// MarshalJSON writes the text or the function.
func (t Text) MarshalJSON() ([]byte, error) { return marshal(t.value) }
