package ec2

import (
	"net/url"
	"strconv"
	"strings"
)

// params are the parameters of a call of EC2, or those below one of them:
// NetworkInterface.2.DeviceIndex is DeviceIndex of the second of
// list("NetworkInterface").
type params struct {
	values url.Values
	at     string          // prefix, with its dot
	there  map[string]bool // every prefix of a name, without its dot
}

func read(values url.Values) params {
	there := map[string]bool{}
	for name := range values {
		for i, r := range name {
			if r == '.' {
				there[name[:i]] = true
			}
		}
		there[name] = true
	}
	return params{values: values, there: there}
}

func (p params) text(name string) string { return p.values.Get(p.at + name) }

func (p params) has(name string) bool { return p.there[p.at+name] }

func (p params) number(name string) int {
	n, _ := strconv.Atoi(p.text(name)) // absent is zero
	return n
}

func (p params) yes(name string) bool { return p.text(name) == "true" }

func (p params) below(name string) params {
	return params{values: p.values, at: p.at + name + ".", there: p.there}
}

// list are the structures of a list.
func (p params) list(name string) []params {
	var all []params
	for i := 1; p.has(name + "." + strconv.Itoa(i)); i++ {
		all = append(all, p.below(name+"."+strconv.Itoa(i)))
	}
	return all
}

// texts are the values of a list of texts.
func (p params) texts(name string) []string {
	var all []string
	for i := 1; ; i++ {
		values, ok := p.values[p.at+name+"."+strconv.Itoa(i)]
		if !ok || len(values) == 0 {
			return all
		}
		all = append(all, values[0])
	}
}

// filter is a filter of a describe call.
type filter struct {
	name   string
	values []string
}

func (p params) filters() []filter {
	var all []filter
	for _, f := range p.list("Filter") {
		all = append(all, filter{name: f.text("Name"), values: f.texts("Value")})
	}
	return all
}

// fits tells whether one of the filter's values, which may have * and ?, is the text.
func (f filter) fits(text string) bool {
	for _, v := range f.values {
		if v == text || strings.ContainsAny(v, "*?") && glob(v, text) {
			return true
		}
	}
	return false
}

func glob(pattern, text string) bool {
	for pattern != "" {
		switch {
		case pattern[0] == '*':
			for i := range len(text) + 1 {
				if glob(pattern[1:], text[i:]) {
					return true
				}
			}
			return false
		case text == "" || pattern[0] != '?' && pattern[0] != text[0]:
			return false
		}
		pattern, text = pattern[1:], text[1:]
	}
	return text == ""
}
