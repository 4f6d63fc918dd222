// Package standin lets tests use drivers that open a vendor's library when they run
// (driver/native) on machines that have no such device: it builds driver plugins, and from
// C libraries that take the place of the vendors'. Package hipstandin and package
// ascendstandin have those; testdata/standin.h is what they share. What only a device can
// show, that code runs and gives right results, a stand-in cannot.
package standin
