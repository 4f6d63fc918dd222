// Package trust tells files and folders that only their user, or root, can have
// made or changed from those that somebody else could have: what tritonc takes
// from a folder, such as a compiled kernel or a plugin, it believes.
//
// Of a folder that is named through a symbolic link the target counts. Folders
// above it are the user's affair, as they are for every program.
//
// The package is a leaf: it imports the standard library only. Windows keeps no
// such modes, and there everything is trusted.
package trust
