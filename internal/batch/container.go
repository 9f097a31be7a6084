package batch

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// containerRules are about what a program needs from outside of its container.
func containerRules(s *script) {
	for _, c := range s.commands {
		if slices.Contains(closed, c.name) {
			s.engine(c)
		}
	}
	s.images()
	s.imagePaths()
	s.libraries()
}

// closed are the engines that give a container nothing of the host by themselves.
var closed = []string{"docker", "podman", "nerdctl"}

// engine is about docker run and its kin, which give a container nothing of the
// host that is not asked for.
func (s *script) engine(c *command) {
	if len(c.args()) == 0 || c.words[1].text != "run" || !s.takesGPUs(c) {
		return
	}
	if s.efa() == yes && !s.alone() && !c.passesDevices() {
		s.warnf("script/container-efa", c.Place, "the container has no EFA: /dev/infiniband is not in it").
			WithHint("add --device=/dev/infiniband")
	}
	privileged := c.gives("--privileged")
	if s.efa() == yes && !s.alone() && !privileged && !c.gives("memlock") {
		s.warnf("script/container-memlock", c.Place, "the container may lock little memory, and EFA registers much").
			WithHint("add --ulimit memlock=-1")
	}
	if !c.gives("--shm-size") && !c.gives("--ipc") && !c.gives("/dev/shm") {
		s.warnf("script/container-shm", c.Place, "the container has 64 MB in /dev/shm, where data loaders and NCCL exchange data").
			WithHint("add --ipc=host, or --shm-size")
	}
	if s.job.several() && !c.gives("--net") && !c.gives("--network") {
		s.warnf("script/container-network", c.Place, "the container has a network of its own, and the ranks of other nodes do not reach it").
			WithHint("add --network=host")
	}
}

// takesGPUs tells whether a container has GPUs, as those that train do.
func (s *script) takesGPUs(c *command) bool {
	return c.gives("--gpus") || c.gives("--runtime=nvidia") || c.gives("nvidia.com/gpu") || c.gives("/dev/nvidia")
}

// gives reports whether an argument has a text in it, or may have.
func (c *command) gives(text string) bool {
	return slices.ContainsFunc(c.args(), func(w word) bool { return strings.Contains(w.text, text) || w.text == string(hole) })
}

func (c *command) passesDevices() bool { return c.gives("/dev/infiniband") || c.gives("--privileged") }

// image is a container image that a command uses.
type image struct {
	word
	name, tag string
}

// images finds images that may change between two runs of a job, and those
// that are too old for the GPUs.
func (s *script) images() {
	for _, i := range s.imageWords() {
		if i.tag == "latest" || i.tag == "" {
			s.warnf("script/image-latest", i.Place, "%s may be another image tomorrow, also when the job runs again", i.shown()).
				WithHint("write a version or a digest, or import the image once and use its .sqsh file")
		}
		s.tooOld(i)
	}
}

// imageWords are images of registries that srun and container engines are given.
func (s *script) imageWords() []image {
	var all []image
	for _, c := range s.commands {
		if o, ok := c.option("container-image"); c.name == "srun" && ok {
			all = appendImage(all, word{value: value{text: o.Value}, Place: o.Place})
		}
		for _, w := range c.images() {
			all = appendImage(all, w)
		}
	}
	return all
}

// imagePaths finds files of images that Pyxis takes for names of a registry: a path begins
// with / or a point.
func (s *script) imagePaths() {
	all := s.options
	for _, c := range s.named("srun") {
		all = append(slices.Clip(all), c.options...)
	}
	for _, o := range all {
		file := strings.HasSuffix(o.Value, ".sqsh") || strings.HasSuffix(o.Value, ".squashfs")
		if o.Name != "container-image" || !file || strings.ContainsAny(o.Value, "#$`"+string(hole)) || strings.Contains(o.Value, "://") || strings.HasPrefix(o.Value, "/") || strings.HasPrefix(o.Value, ".") {
			continue
		}
		if s.facts != nil && slices.Contains(s.facts.ImageFiles, o.Value) {
			s.warnf("script/image-path", s.at(o), "%s is asked of Docker Hub, and is not the file of that name in this directory: the path of a file begins with / or ./", o.Value).
				WithHint("--container-image=./%s", o.Value)
			continue
		}
		s.warnf("script/image-path", s.at(o), "%s is asked of Docker Hub: the path of a file begins with / or ./", o.Value).
			WithHint("--container-image=./%s", o.Value)
	}
}

// images are those that a container engine is given. What of docker run's words
// is the image cannot be told for sure, but that a word ends as one.
func (c *command) images() []word {
	args := c.args()
	if len(args) < 2 || !slices.Contains(engines, c.name) {
		return nil
	}
	switch args[0].text {
	case "pull", "import":
		return args[len(args)-1:]
	case "run", "exec":
		i := slices.IndexFunc(args, func(w word) bool { return strings.HasSuffix(w.text, ":latest") })
		if i >= 0 {
			return args[i : i+1]
		}
	}
	return nil
}

var imageName = pattern.New(`^(?:docker://)?((?:[a-zA-Z0-9.-]+(?::\d+)?[/#])?[a-z0-9._/-]+?)(?::([\w.-]+))?(@sha256:[0-9a-f]+)?$`)

// appendImage adds an image if it is one of a registry and all is known of it.
func appendImage(all []image, w word) []image {
	if !w.known() || strings.HasPrefix(w.text, "/") || strings.HasPrefix(w.text, ".") || strings.HasSuffix(w.text, ".sqsh") || strings.HasSuffix(w.text, ".squashfs") {
		return all
	}
	m := imageName().FindStringSubmatch(w.text)
	if m == nil {
		return all
	}
	i := image{word: w, name: m[1], tag: m[2]}
	if m[3] != "" {
		i.tag = m[3]
	}
	return append(all, i)
}

// minimumCUDA is the first version of CUDA that has code for a GPU: NVIDIA's
// release notes of the toolkit. monthly is the first of NVIDIA's monthly images
// with it: the support matrix of its deep learning frameworks.
var minimumCUDA = map[string]struct{ cuda, monthly string }{
	"a100": {"11.0", "20.06"}, "h100": {"11.8", "22.09"}, "h200": {"11.8", "22.09"},
	"b200": {"12.8", "25.01"}, "b300": {"12.9", "25.05"},
}

var (
	inTag          = pattern.New(`(?:^|[^a-z])cu(?:da)?-?(\d{2})\.?(\d)`)
	cudaImage      = pattern.New(`(^|/)nvidia/cuda$|(^|[/#])cuda$`)
	monthlyImage   = pattern.New(`nvcr\.io[/#]nvidia/(pytorch|nemo|tensorflow|jax)$`)
	leadingVersion = pattern.New(`^(\d{2})\.(\d{1,2})`)
)

func (s *script) tooOld(i image) {
	least, ok := minimumCUDA[s.gpu()]
	if !ok {
		return
	}
	have, need, what := "", least.cuda, "CUDA "+least.cuda
	switch version := leadingVersion().FindString(i.tag); {
	case monthlyImage().MatchString(i.name) && version != "":
		have, need, what = version, least.monthly, "a release of "+least.monthly+" or later"
	case cudaImage().MatchString(i.name) && version != "":
		have = version
	default:
		if m := inTag().FindStringSubmatch(i.tag); m != nil {
			have = m[1] + "." + m[2]
		}
	}
	if have != "" && older(have, need) {
		s.warnf("script/image-cuda", i.Place, "%s is too old for the %s of %s: it needs %s", i.shown(), strings.ToUpper(s.gpu()), s.machine(), what).
			WithHint("use a newer image")
	}
}

// older compares versions of two numbers.
func older(have, need string) bool {
	a, b, _ := strings.Cut(have, ".")
	c, d, _ := strings.Cut(need, ".")
	return number(a) < number(c) || number(a) == number(c) && number(b) < number(d)
}

// gpu is the type of GPU of all nodes of the job, "" if it is not one.
func (s *script) gpu() string {
	name := ""
	for _, r := range s.resources() {
		if name != "" && r.GPU != name {
			return ""
		}
		name = r.GPU
	}
	return name
}

var versioned = pattern.New(`/(cuda|nccl|ofi-nccl|aws-ofi-nccl|libfabric)[-_]v?(\d+(?:\.\d+)+)`)

// libraries finds search paths with two versions of one library: which one a
// program gets depends on their order.
func (s *script) libraries() {
	for _, v := range s.environment() {
		if v.name != "LD_LIBRARY_PATH" && v.name != "LD_PRELOAD" {
			continue
		}
		found := map[string]string{}
		for _, m := range versioned().FindAllStringSubmatch(v.text, -1) {
			if before, ok := found[m[1]]; ok && before != m[2] {
				s.warnf("script/library-path", v.Place, "%s has %s %s and %s: which one is used depends on their order", v.name, m[1], before, m[2]).
					WithHint("keep one of them")
				break
			}
			found[m[1]] = m[2]
		}
	}
}
