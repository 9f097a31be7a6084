package meter

import "testing"

func FuzzReadIOR(f *testing.F) {
	seed(f, "ior/*.*")
	f.Fuzz(func(t *testing.T, text []byte) { o := ReadIOR(text); sound(t, o, o.Reading) })
}

func FuzzReadMdtest(f *testing.F) {
	seed(f, "mdtest/*.*")
	f.Fuzz(func(t *testing.T, text []byte) { m := ReadMdtest(text); sound(t, m, m.Reading) })
}

func FuzzReadFio(f *testing.F) {
	seed(f, "fio/*.*")
	f.Fuzz(func(t *testing.T, text []byte) { o := ReadFio(text); sound(t, o, o.Reading) })
}
