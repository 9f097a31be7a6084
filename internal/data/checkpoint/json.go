package checkpoint

import "strings"

// oneJSON reports whether files of such a name are one value of JSON, mostly an object: of Hugging Face's libraries, and of Megatron-LM.
func oneJSON(name string) bool {
	switch name {
	case "trainer_state.json", "config.json", "generation_config.json", "adapter_config.json", "tokenizer_config.json", "special_tokens_map.json", "metadata.json":
		return true
	}
	return patterns().index.MatchString(name)
}

// jsonTail is how much is read of one: all of a symbolic link's path, and of most of them.
const jsonTail = 4 << 10

// askJSON asks whether JSON in brackets ends: what a full disk leaves of a file begins like one and stops. It is not parsed: Python
// writes NaN in it. What has no brackets says nothing of its end.
func askJSON(size int64) *question {
	tail := min(jsonTail, size)
	torn := Content{Torn: "it is JSON without an end"}
	return &question{size - tail, tail, func(b []byte) (Content, *question) {
		text := strings.TrimSpace(string(b))
		switch {
		case text == "" || text[len(text)-1] == 0:
			return torn, nil
		case tail == size:
			if opensBracket(text[0]) && !closed(text) {
				return torn, nil
			}
			return Content{}, nil
		case strings.HasSuffix(text, "}") || strings.HasSuffix(text, "]"):
			return Content{}, nil
		}
		return Content{}, &question{0, 1, func(head []byte) (Content, *question) {
			if len(head) > 0 && opensBracket(head[0]) {
				return torn, nil
			}
			return Content{}, nil
		}}
	}}
}

func opensBracket(b byte) bool { return b == '{' || b == '[' }

// closed reports whether as many brackets end as begin, those in texts left out.
func closed(json string) bool {
	depth, inText := 0, false
	for i := 0; i < len(json); i++ {
		switch c := json[i]; {
		case c == '"':
			inText = !inText
		case inText && c == '\\':
			i++
		case inText:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return depth == 0 && !inText
}
