package lint

import (
	"strconv"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/spec"
)

// services has the rules about the head node, login nodes, image, permissions, monitoring, directory service and database.
func services(root spec.View, level spec.Level) {
	regions(root, level)
	image(root)
	desktops(root, level)
	headNode(root, level)
	loginNodes(root, level)
	resourcePrefix(root.At("Iam.ResourcePrefix"))
	monitoring(root.Key("Monitoring"))
	directory(root)
	accounting(root)
	actions(root)
	devSettings(root.Key("DevSettings"))
	reservedTags(root)
	emptyQueues(root)
}

// maxQuoted is how many bytes of a user's value a message repeats.
const maxQuoted = 80

// quoted is a user's value in a message.
func quoted(text string) string {
	if len(text) > maxQuoted {
		cut := maxQuoted
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "..."
	}
	return strconv.Quote(text)
}
