// Package sheet makes of a report what people and CI read: rows that tell what holds for many nodes once, a page of HTML that
// needs nothing else, and JUnit's XML. Texts of a report come from nodes and are not trusted: they are bounded in size, and
// nothing of them acts on who reads them.
package sheet
