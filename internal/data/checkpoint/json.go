package checkpoint

import "strings"

// jsonObject reports whether files of such a name are one object of JSON: of Hugging Face's libraries, and of Megatron-LM.
func jsonObject(name string) bool {
	switch name {
	case "trainer_state.json", "config.json", "generation_config.json", "adapter_config.json", "tokenizer_config.json", "special_tokens_map.json", "metadata.json":
		return true
	}
	return patterns().index.MatchString(name)
}

// jsonTail is how much is read of one: all of a symbolic link's path, and of most of them.
const jsonTail = 4 << 10

// askJSON asks for the end of an object in JSON, and where that is all of it, whether each of its brackets has an end. It is not
// parsed: Python writes NaN in it.
func askJSON(size int64) *question {
	tail := min(jsonTail, size)
	return &question{size - tail, tail, func(b []byte) (Content, *question) {
		text := strings.TrimSpace(string(b))
		if !strings.HasSuffix(text, "}") || tail == size && !closed(text) {
			return Content{Torn: "it is JSON without an end"}, nil
		}
		return Content{}, nil
	}}
}

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
