// Package store keeps objects in buckets and proves that what comes back is what went in.
//
// Its law: no byte is trusted without its checksum. An upload carries the CRC64NVME of the content, and the place refuses
// other bytes; a download is checked while it is read. Which files to keep, and whether a file holds still while it is
// read, is for others to say.
package store

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// ErrNotFound says that there is no such object or no such bucket.
var ErrNotFound = errors.New("not found")

// ErrChecksum says that bytes are not those that were put, or not those that were to be put.
var ErrChecksum = errors.New("checksum differs")

// ErrRefused says that the place refuses this object, for its key or for what it is, and is otherwise well: the same
// would be refused again, other objects need not be.
var ErrRefused = errors.New("refused")

// ErrDenied says that the caller has no right to what he asked: to all of it, or to this object alone, as where it is encrypted
// with a key that is not his.
var ErrDenied = errors.New("access denied")

// ErrChanged says that the object is another one than the caller knows, or that there is one where there was to be none.
var ErrChanged = errors.New("it is another object by now")

// ErrArchived says that the object's class of storage has to bring it back before it can be read.
var ErrArchived = errors.New("it is archived (GLACIER, DEEP_ARCHIVE), and cannot be read until it is brought back: `aws s3api restore-object` asks for that, which takes hours; then run the same again")

// ErrIgnored says that the place stored an object, but not as it was asked to: without its class of storage, or without
// the key of KMS.
var ErrIgnored = errors.New("the place does not do what was asked")

// Store is one bucket. All methods may be called from many goroutines, and twice: doing it again changes nothing more.
// Errors name the deed and the object. Every wait ends: with ctx, or when the other side is silent for too long.
type Store interface {
	// MakeBucket makes the bucket unless the caller has it already.
	MakeBucket(ctx context.Context) error
	// Put stores a whole object or nothing, in place of one of the same key. The answer means that it will outlive a
	// crash of the place. It returns ErrChecksum if the content is not that of the given sums, the error of u.Same,
	// io.ErrUnexpectedEOF for a body that is too short, ErrNotFound without a bucket, ErrRefused if this object is what the
	// place does not take, ErrIgnored with the Object if it is stored without its Class or KMSKey.
	Put(ctx context.Context, u Upload) (Object, error)
	// PutIf is Put if the object has this version, or if there is none where the version is "". Else it returns ErrChanged.
	PutIf(ctx context.Context, u Upload, version string) (Object, error)
	// Abort frees the parts of an upload that Begun told of and that nobody will go on with. An unknown upload is no error.
	Abort(ctx context.Context, key, upload string) error
	// Get opens an object. The reader ends with io.EOF only if size and checksum are right, else with ErrChecksum or
	// the transport's error: what was read is worth nothing until then. It returns ErrNotFound for an absent key.
	Get(ctx context.Context, key string) (io.ReadCloser, Object, error)
	// Range opens so many bytes of an object from an offset on. The reader ends with io.EOF after all of them, else with
	// io.ErrUnexpectedEOF or the transport's error; their checksum is for the caller to know. It returns ErrNotFound for an
	// absent key, and ErrChanged if the object has another version than this, if it is not "".
	Range(ctx context.Context, key string, from, size int64, version string) (io.ReadCloser, error)
	// Head describes an object. It returns ErrNotFound for an absent key.
	Head(ctx context.Context, key string) (Object, error)
	// List yields the objects whose keys begin with the prefix, in the order of the keys' bytes, without checksums and
	// Meta. After an error it yields nothing more.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// Delete removes an object. An absent key is no error.
	Delete(ctx context.Context, key string) error
	// DeleteIf is Delete if the object has this version. Else it returns ErrChanged.
	DeleteIf(ctx context.Context, key, version string) error
}

// Upload is an object to put. With Begun or Resume, what was sent of an object in parts outlives a Put that fails or is
// cancelled, so that another one can go on with it; not so if the object was refused, or if Body is not what it was.
type Upload struct {
	Key       string
	Body      io.ReaderAt       // each byte is read once, in order, but of what is larger than S3 takes in parts that can be held
	SizeBytes int64             // as many bytes of Body are stored
	Sums      Sums              // of these bytes, as far as they are known
	Same      func() error      // called when all was read and before the object appears: says that Body is what it was; may be nil
	Sent      func(bytes int64) // told of bytes that went out, less than none if they go again; by many goroutines; may be nil
	Meta      map[string]string // keys in lower case, all of it printable ASCII; "sha256" is the store's own

	Class  string // of storage, in S3's words, as STANDARD_IA; "" for the place's usual one
	KMSKey string // what KMS encrypts with, as an ARN or ID; "aws/s3" for the account's own; "" for the bucket's encryption

	Resume string                // an upload to go on with, which began with this Key, Meta, Class and KMSKey; one that is unknown begins anew
	Begun  func(id string) error // told of a new upload in parts, before the first part; its error ends it; may be nil
	Kept   func(bytes int64)     // told of bytes that were there from before, and are not sent; by many goroutines; may be nil
}

// Object describes a stored object.
type Object struct {
	Key       string
	SizeBytes int64
	Modified  time.Time         // when it was put, by the place's clock, to the second at least
	Version   string            // differs whenever the content does (S3's ETag)
	SHA256    string            // of the content, in hex; "" if who put it did not know it before, nor the place
	CRC64NVME string            // of the content, in base64; "" if the place does not know it
	Other     Checksum          // of the content, where others put it with another one than these
	Meta      map[string]string // as it was put

	PartBytes int64    // the length of its parts but the last, and
	Parts     []string // their CRC64NVME, in base64; only in the answer of Put, and none if it went as a whole
}
