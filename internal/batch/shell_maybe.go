package batch

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// decides tells whether a statement only asks whether what follows is to run.
func decides(s *syntax.Stmt) bool {
	switch x := s.Cmd.(type) {
	case *syntax.TestClause, *syntax.ArithmCmd:
		return true
	case *syntax.BinaryCmd:
		return decides(x.X)
	case *syntax.CallExpr:
		return s.Negated || len(x.Args) > 0 && slices.Contains([]string{"[", "test", "command", "which", "type", "hash"}, x.Args[0].Lit())
	}
	return s.Negated
}

// excused tells whether nothing depends on the left side: COMMAND || true.
func excused(x *syntax.BinaryCmd) bool {
	call, ok := x.Y.Cmd.(*syntax.CallExpr)
	return ok && x.Op == syntax.OrStmt && len(call.Args) > 0 && slices.Contains([]string{"true", ":"}, call.Args[0].Lit())
}
