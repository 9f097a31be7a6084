package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec/yamledit"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// title is a key as messages name it.
func (f *field) title() string {
	if f.parent == nil {
		return "the file"
	}
	return f.name
}

// describe says what a key wants.
func (f *field) describe() string {
	switch f.Type {
	case "int":
		return "a whole number"
	case "float":
		return "a number"
	case "bool":
		return "true or false"
	case "list", "dicts", "strings":
		return "a list"
	case "map", "dict":
		return "keys and values"
	default:
		return "a text"
	}
}

// describe says what a value is.
func (n *node) describe() string {
	switch {
	case n.kind == mapping:
		return "keys and values"
	case n.kind == sequence:
		return "a list"
	case n.null():
		return "nothing"
	case n.tag == "bool":
		return "the truth value " + yamledit.Clip(n.value)
	case n.tag == "int" || n.tag == "float":
		return "the number " + yamledit.Clip(n.value)
	case n.tag == "timestamp":
		return "the date " + yamledit.Clip(n.value)
	default:
		return "the text " + quote(n.value)
	}
}

// placeholder is the name in braces such as {your-subnet}, which YAML reads as
// a map.
func (n *node) placeholder() (name string, ok bool) {
	if n.kind != mapping || len(n.entries) != 1 || !n.entries[0].value.null() {
		return "", false
	}
	return n.entries[0].key, true
}

// shown is a scalar for a message: a text in quotes, and else with its type.
func (n *node) shown() string {
	if n.tag == "str" {
		return quote(n.value)
	}
	return n.describe()
}

// what names a scalar's type.
func (n *node) what() string {
	switch n.tag {
	case "bool":
		return "a truth value"
	case "int", "float":
		return "a number"
	case "timestamp":
		return "a date"
	default:
		return "a text"
	}
}

// maxListed is how many keys or values a hint lists.
const maxListed = 20

// keysHint lists what a map takes.
func (f *field) keysHint() string {
	if len(f.names) == 0 {
		return "write \"Key: value\" below it"
	}
	return f.title() + " takes " + enumerate(f.names)
}

// valuesHint lists what a key can be, or the one that was probably meant.
func (f *field) valuesHint(got string) string {
	values := f.constraint.oneOf
	if v := f.meant(got); v != "" {
		return "write " + v
	}
	if near := diag.Nearest(got, values); near != "" && len(values) > 6 {
		return "did you mean " + near + "?"
	}
	hint := "use one of " + strings.Join(values, ", ")
	if f.name == "DeploymentType" {
		hint += "; PERSISTENT_2 has 125 to 1000 MB/s per TiB, PERSISTENT_1 50 to 200"
	}
	return hint
}

// patternHint says what a key looks like.
func (f *field) patternHint() string {
	switch pattern := f.constraint.pattern.String(); {
	case pattern == `^arn:.*:secret`, strings.Contains(pattern, "secretsmanager"):
		return "give the ARN of a secret: arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME"
	case strings.HasPrefix(pattern, "^arn:"):
		return "give an ARN with " + strings.Trim(strings.TrimPrefix(pattern, "^arn:.*:"), "/") + "/ in it: arn:aws:iam::ACCOUNT:" +
			strings.TrimPrefix(pattern, "^arn:.*:") + "NAME"
	case f.name == "MountDir":
		return "give a directory such as /shared, without dots at the start of a name"
	case f.Path == "Models[].Name":
		return "begin with a letter or digit; use letters, digits, dots, _ and -"
	case slices.Contains([]string{"Job", "Queue", "Account", "QoS", "Model"}, f.Path):
		return "begin with a letter or digit; use letters, digits, dots, _ and -"
	case strings.HasPrefix(pattern, "^[a-z0-9][a-z0-9._-]"):
		return "use small letters, digits, dots, _ and -, as Slurm does"
	case f.Path == "Accounts[].Users":
		return "give the name with which somebody logs in"
	case f.name == "BucketName", f.Path == "Buckets":
		return "give a bucket's name alone: small letters, digits, dots, hyphens"
	case f.name == "DailyAutomaticBackupStartTime":
		return "write it as \"HH:MM\""
	case f.name == "WeeklyMaintenanceStartTime":
		return "write it as \"D:HH:MM\", D from 1 (Monday) to 7"
	default:
		return "it must match " + pattern
	}
}

var idForm = pattern.New(`([a-z]+-)\[0-9a-([fz])\]\{(\d+)(?:(,)(\d*))?\}`)

// idHint says what an AWS id looks like.
func (f *field) idHint() string {
	forms := idForm().FindAllStringSubmatch(f.constraint.pattern.String(), -1)
	if len(forms) == 0 {
		return f.patternHint()
	}
	first, letters := forms[0], "small letters or digits"
	if first[2] == "f" {
		letters = "digits or letters a to f"
	}
	length := first[3]
	switch {
	case first[4] == "," && first[5] == "":
		length += " or more"
	case first[4] == ",":
		length += " to " + first[5]
	}
	for _, form := range forms[1:] {
		length += " or " + form[3]
	}
	return fmt.Sprintf("%s's id is %s and %s %s", idKinds[first[1]], first[1], length, letters)
}

// idKinds are the things that an id's first letters stand for.
var idKinds = map[string]string{
	"subnet-": "a subnet", "sg-": "a security group", "ami-": "an AMI", "fs-": "a file system", "fsap-": "an access point",
	"fc-": "a file cache", "backup-": "a backup", "fsvol-": "a volume", "snap-": "a snapshot", "vol-": "a volume",
}

// example shows how a key is written.
func (f *field) example() string {
	switch f.Type {
	case "list", "dicts", "strings":
		return f.name + ": with a list below it"
	case "map", "dict":
		return f.name + ": with its keys below it"
	default:
		return f.name + ": and its value"
	}
}

func enumerate(names []string) string {
	if len(names) > maxListed {
		return strings.Join(names[:maxListed], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}
