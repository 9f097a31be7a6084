package cloudformation

import (
	"regexp"
	"strings"
	"sync"
)

// texts are a text, or those of a list.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, x := range v {
			all = append(all, texts(x)...)
		}
		return all
	}
	return nil
}

var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z0-9]+)[^}]*\}`) })

// substituted are the names in the text of an Fn::Sub.
func substituted(value any) []string {
	var all []string
	for _, text := range texts(value) {
		for _, m := range variable().FindAllStringSubmatch(text, -1) {
			all = append(all, strings.TrimSpace(m[1]))
		}
	}
	return all
}
