package spec

import "github.com/muster-hpc/muster/internal/diag"

// File is a cluster file as it stands, for rules that look at it: what is
// there and where. The schema's problems are reported already.
type File struct {
	// Cluster is the file's model, nil if the schema's check found errors, or if AWS
	// knows a part of it.
	Cluster *Cluster
	// Problems are those found so far. It is never nil.
	Problems *diag.List

	doc    *document
	schema *schema
	// data is the file's text.
	data []byte
}

// Options say how a cluster file is read.
type Options struct {
	// AWS says that the file has to be right for AWS: ids have AWS's form. Other
	// places take placeholders.
	AWS bool
	// Level is the schema level by which the file is read, whatever it says
	// itself. Zero leaves it to the file, or else to the newest one.
	Level Level
	// Fixes says that problems are looked for to be fixed: far more of them are
	// reported than people read.
	Fixes bool
}

// Open reads a cluster file for rules.
func Open(path string, o Options) *File {
	list := &diag.List{}
	data, ok := Read(path, list)
	if !ok {
		return &File{Problems: list, schema: clusterSchema(o.Level)}
	}
	return newFile(path, data, o, list)
}

// OpenText is Open for a text that was read elsewhere; name stands for it in
// diagnostics.
func OpenText(name string, data []byte, o Options) *File {
	return newFile(name, data, o, &diag.List{})
}

func newFile(name string, data []byte, o Options, list *diag.List) *File {
	f := &File{Problems: list, data: data, schema: clusterSchema(o.Level)}
	f.doc = parse(name, data, o, list)
	if f.doc == nil {
		return f
	}
	if f.doc.otherKind() {
		return f
	}
	if own := f.doc.ownLevel(); o.Level == 0 && own != 0 {
		f.schema = clusterSchema(own)
	}
	check(f.doc, f.schema, o)
	checkCluster(f.doc.view(f.schema))
	if f.doc.errors == 0 && !f.doc.partial {
		f.Cluster = f.Model()
	}
	return f
}

// Root is the whole file. It is false if the file is not YAML with keys and
// values, so that there is nothing to look at.
func (f *File) Root() (View, bool) {
	if f.doc == nil || f.doc.root.kind != mapping {
		return View{}, false
	}
	return f.doc.view(f.schema), true
}

// Model is what the file says as far as it can be read, whatever is wrong with it: a value
// that is missing or of a wrong type is its default. It is never nil.
func (f *File) Model() *Cluster {
	root, ok := f.Root()
	if !ok {
		return &Cluster{}
	}
	return buildCluster(f.doc.name, root)
}

// Level is the schema level by which the file was read.
func (f *File) Level() Level { return f.schema.level }

// Finish is called once, when all rules have run. It proves the fixes, says if
// there were more problems than are shown, and takes away what the file's comments
// allow.
func (f *File) Finish() {
	if f.doc != nil {
		f.doc.finish()
		f.Problems.Allow(f.doc.name, f.data)
	}
}
