// Package sheet makes of a report what people and CI read: a page of HTML that needs nothing else, and JUnit's XML.
package sheet
