// Package image keeps images as squashfs files in a directory: it imports them
// from where they are, lists, shows and removes them.
//
// An imported image is one file NAME.sqsh that the kernel, squashfuse and
// unsquashfs read, with metadata behind the file system. It appears whole or not
// at all, under any kill and with any number of imports at once. Layers that were
// read once are kept in a cache beside it, from which other images and later
// versions take them; what a layer is made of is internal/image/layer's matter,
// where images come from is internal/image/source's.
package image
