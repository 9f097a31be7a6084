//go:build linux

package scan

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// Where EFA and its software are.
const (
	infiniband = "/sys/class/infiniband"
	installed  = "/opt/amazon/efa_installed_packages"
	efaModule  = "/sys/module/efa/version"
)

func (e eye) efa(ctx context.Context) verify.EFAFacts {
	f := e.counted()
	f.Driver, f.Installer, f.Plugin = e.absent(efaModule), e.installer(), e.plugin()
	f.DeviceFiles = e.deviceFiles()
	if e.find("fi_info") == "" {
		f.Libfabric = verify.Saw("")
		f.Domains = verify.Unseen[map[string][]string]("this machine has no fi_info")
		return f
	}
	f.Libfabric = e.libfabric(ctx)
	f.Domains = e.domains(ctx)
	return f
}

// counted are the devices and their counters alone, which takes no program.
func (e eye) counted() verify.EFAFacts {
	f := verify.EFAFacts{Devices: e.efaDevices()}
	devices, _ := f.Devices.See()
	f.Counters = e.counters(devices)
	return f
}

// absent is a file's line, and the empty one of a file that is not there.
func (e eye) absent(name string) verify.Look[string] {
	if _, err := os.Stat(e.at(name)); errors.Is(err, os.ErrNotExist) {
		return verify.Saw("")
	}
	return e.line(name)
}

// efaDevices are the devices of the kernel's driver of EFA.
func (e eye) efaDevices() verify.Look[[]string] {
	dirs, err := os.ReadDir(e.at(infiniband))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return verify.Unseen[[]string](err.Error())
	}
	all := []string{}
	for _, d := range dirs {
		driver, err := os.Readlink(e.at(path.Join(infiniband, d.Name(), "device/driver")))
		if err == nil && filepath.Base(driver) == "efa" {
			all = append(all, d.Name())
		}
	}
	return verify.Saw(all)
}

// installer is the version in what EFA's installer leaves behind.
func (e eye) installer() verify.Look[string] {
	text, err := e.read(installed)
	if errors.Is(err, os.ErrNotExist) {
		return verify.Saw("")
	}
	if err != nil {
		return verify.Unseen[string](err.Error())
	}
	for line := range strings.Lines(text) {
		if _, version, ok := strings.Cut(line, "EFA installer version:"); ok {
			return verify.Saw(short(strings.TrimSpace(version)))
		}
	}
	return verify.Unseen[string](installed + " does not tell the installer's version")
}

// libfabric is the version of the library that fi_info has.
func (e eye) libfabric(ctx context.Context) verify.Look[string] {
	out, err := e.ask(ctx, "fi_info", "--version")
	if err != nil {
		return verify.Unseen[string](err.Error())
	}
	for line := range strings.Lines(out) {
		if version, ok := strings.CutPrefix(line, "libfabric:"); ok {
			return verify.Saw(short(strings.TrimSpace(version)))
		}
	}
	return verify.Unseen[string]("fi_info does not tell libfabric's version")
}

// domains asks libfabric for what EFA offers. Newer ones list each device more than once, for each of their fabrics.
func (e eye) domains(ctx context.Context) verify.Look[map[string][]string] {
	out, err := e.ask(ctx, "fi_info", "-p", "efa", "-t", "FI_EP_RDM")
	all := map[string][]string{}
	if err != nil && !strings.Contains(err.Error(), "No data available") {
		return verify.Unseen[map[string][]string](err.Error())
	}
	info := meter.ReadFiInfo([]byte(out))
	for _, at := range info.Endpoints {
		if at.Type == "FI_EP_RDM" && !slices.Contains(all[at.Provider], at.Device()) && len(all) < mostGPUs {
			all[at.Provider] = append(all[at.Provider], at.Device())
		}
	}
	all["efa"] = info.EFA("")
	return verify.Saw(all)
}

// counters are the sums of the devices' counters.
func (e eye) counters(devices []string) verify.Look[map[string]int64] {
	sums := map[string]int64{}
	for _, d := range devices {
		for _, file := range e.glob(path.Join(infiniband, d, "ports/*/hw_counters/*")) {
			text, err := e.read(file)
			n, wrong := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err == nil && wrong == nil {
				sums[path.Base(file)] += n
			}
		}
	}
	if len(devices) > 0 && len(sums) == 0 {
		return verify.Unseen[map[string]int64]("the devices have no counters that can be read")
	}
	return verify.Saw(sums)
}

// deviceFiles counts the devices by which programs reach EFA, as far as they may be opened.
func (e eye) deviceFiles() verify.Look[int] {
	n := 0
	for _, file := range e.glob("/dev/infiniband/uverbs*") {
		f, err := os.OpenFile(e.at(file), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		_ = f.Close() // nothing was written
		n++
	}
	return verify.Saw(n)
}

// plugins are where installers and images put the plugin by which NCCL talks over libfabric.
var plugins = [...]string{
	"/opt/amazon/ofi-nccl/lib*/libnccl-net*.so*", "/opt/amazon/ofi-nccl/lib/*/libnccl-net*.so*", "/opt/aws-ofi-nccl/lib*/libnccl-net*.so*",
	"/opt/aws-ofi-nccl/install/lib*/libnccl-net*.so*", "/usr/local/lib/libnccl-net*.so*", "/usr/lib/x86_64-linux-gnu/libnccl-net*.so*", "/usr/lib64/libnccl-net*.so*",
}

// plugin is the version that the plugin has built in.
func (e eye) plugin() verify.Look[string] {
	var odd string
	for _, pattern := range plugins {
		for _, file := range e.glob(pattern) {
			version, err := e.builtIn(file, "aws-ofi-nccl ")
			if err != nil {
				odd = err.Error()
				continue
			}
			if version != "" {
				return verify.Saw(version)
			}
			odd = file + " does not tell its version"
		}
	}
	if odd != "" {
		return verify.Unseen[string](odd)
	}
	return verify.Saw("")
}

// libraryLimit bounds what is read of a library.
const libraryLimit = 64 << 20

// builtIn finds the version behind a text in a library, empty if it has none.
func (e eye) builtIn(file, before string) (string, error) {
	f, err := os.Open(e.at(file))
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, libraryLimit))
	for err == nil {
		_, behind, ok := bytes.Cut(data, []byte(before))
		if !ok {
			return "", nil
		}
		if version := versionAt(behind); version != "" {
			return version, nil
		}
		data = behind
	}
	return "", err
}

// versionAt is the version that a text begins with, such as 1.8.1-aws.
func versionAt(text []byte) string {
	n := 0
	for n < len(text) && n < 40 && (text[n] >= '0' && text[n] <= '9' || text[n] == '.' || n > 0 && (text[n] == '-' || text[n] == '+' || text[n] >= 'a' && text[n] <= 'z')) {
		n++
	}
	if !bytes.ContainsRune(text[:n], '.') || text[0] < '0' || text[0] > '9' {
		return ""
	}
	return string(text[:n])
}
