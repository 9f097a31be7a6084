package data

// Pushed is what a push did. Each file of the source is sent, unchanged, found or failed.
type Pushed struct {
	Files     int64 // of the dataset as it is now
	Bytes     int64
	Committed bool // it is another one than before

	SentFiles      int64
	SentBytes      int64
	ResumedBytes   int64 // of these, what a push before had sent already
	UnchangedFiles int64
	UnchangedBytes int64
	FoundFiles     int64 // were there, though no push knew of them
	FoundBytes     int64
	DeletedFiles   int64
	DeletedBytes   int64
	StayingFiles   int64 // are of the dataset, and the source has them no more
	LeftOutFiles   int64 // are of the dataset, and stay because the patterns do not mean them
	LinksLeft      int64
	Seconds        float64

	Different Names // files that were sent because of their bytes alone: size and time are as they were

	Problems Problems // the files that cannot be sent
	Strays   Names    // objects that are of no dataset
	Below    Names    // the datasets that some of these are of, by their directories
	Around   *string  // the prefix of the dataset that this one lies in, if there is one
	Lost     Names    // files of the dataset that somebody deleted in the bucket, and that the source has no more

	OldManifests Names // that this push may not delete; nobody reads them

	IdleIncludes []string // patterns that nothing matched
	IdleExcludes []string
}
