package meter

import "testing"

func FuzzReadNCCL(f *testing.F) {
	seed(f, "nccl-debug/*.*")
	f.Fuzz(func(t *testing.T, text []byte) { o := ReadNCCL(text); sound(t, o, o.Reading) })
}

func FuzzReadFiInfo(f *testing.F) {
	seed(f, "fi_info/*.*")
	f.Fuzz(func(t *testing.T, text []byte) {
		o := ReadFiInfo(text)
		sound(t, o, o.Reading)
		for _, process := range o.Processes() {
			if len(o.EFA(process)) > len(o.Endpoints) {
				t.Error("more devices than endpoints")
			}
		}
	})
}

func FuzzReadDCGM(f *testing.F) {
	seed(f, "dcgm/*.*")
	f.Fuzz(func(t *testing.T, text []byte) { o := ReadDCGM(text); sound(t, o, o.Reading) })
}

func FuzzReadGPUQuery(f *testing.F) {
	seed(f, "nvidia-smi/*.csv")
	seed(f, "nvidia-smi/query*.*")
	f.Fuzz(func(t *testing.T, text []byte) {
		o := ReadGPUQuery(text, "index", "clocks_throttle_reasons.active")
		sound(t, o, o.Reading)
	})
}

func FuzzReadGPUList(f *testing.F) {
	seed(f, "nvidia-smi/list*.*")
	f.Fuzz(func(t *testing.T, text []byte) { o := ReadGPUList(text); sound(t, o, o.Reading) })
}

func FuzzReadNVLinks(f *testing.F) {
	seed(f, "nvidia-smi/*nvlink*")
	f.Fuzz(func(t *testing.T, text []byte) { o := ReadNVLinks(text); sound(t, o, o.Reading) })
}

func FuzzReadTopology(f *testing.F) {
	seed(f, "nvidia-smi/topo*.*")
	f.Fuzz(func(t *testing.T, text []byte) {
		o := ReadTopology(text)
		sound(t, o, o.Reading)
		o.Path("GPU0", "GPU1")
	})
}

func FuzzReadFabricLog(f *testing.F) {
	seed(f, "nvidia-smi/fabric*.*")
	f.Fuzz(func(t *testing.T, text []byte) { o := ReadFabricLog(text); sound(t, o, o.Reading) })
}

func FuzzReadPCI(f *testing.F) {
	seed(f, "nvidia-smi/lspci*.*")
	f.Fuzz(func(t *testing.T, text []byte) { o := ReadPCI(text); sound(t, o, o.Reading) })
}

func FuzzReadClock(f *testing.F) {
	seed(f, "chrony/*.*")
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, o := range []Clock{ReadChrony(text), ReadTimedatectl(text)} {
			sound(t, o, o.Reading)
		}
	})
}
