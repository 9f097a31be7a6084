package policy

import "slices"

// Flags collects the options of a command line. Its Flag is what pflag wants of a flag, so that
// a command has each option as a flag:
//
//	for _, o := range policy.Options() {
//		flags.VarPF(wishes.Flag(o), o.Name, "", o.Help).NoOptDefVal = o.Lone()
//	}
type Flags struct {
	words []string
}

// Words are the options that were given, as Policy.With takes them.
func (f *Flags) Words() []string { return slices.Clone(f.words) }

// Flag is one option of the command line.
func (f *Flags) Flag(o Option) *Flag { return &Flag{of: f, option: o} }

// Flag is one option. A value that it does not take is an error for who typed it.
type Flag struct {
	of     *Flags
	option Option
}

// Lone is the value of an option that is given without one: "true" if it takes none, else "".
func (o Option) Lone() string {
	if o.Value == "" {
		return "true"
	}
	return ""
}

// Set takes a value.
func (f *Flag) Set(value string) error {
	if f.option.Value == "" && value == f.option.Lone() {
		value = ""
	}
	word := f.option.word(value)
	if f.option.Value == "" && value != "" {
		word += "=" + value
	}
	if _, list := Default().With([]string{word}); list.HasErrors() {
		return &flagError{list.All()[0].Message, list.All()[0].Hint}
	}
	f.of.words = append(f.of.words, word)
	return nil
}

// String is the default, which the help's text says already.
func (f *Flag) String() string { return "" }

// Type is the value's name.
func (f *Flag) Type() string {
	if f.option.Value == "" {
		return "bool"
	}
	return f.option.Value
}

// flagError is a problem of an option in one line.
type flagError struct{ message, hint string }

func (e *flagError) Error() string {
	if e.hint == "" {
		return e.message
	}
	return e.message + "; " + e.hint
}
