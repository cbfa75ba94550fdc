package args

import (
	"fmt"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// Codes about the release itself.
var (
	CodeReleaseNewer = finding.Define("release-newer-than-tables",
		"the release is newer than the tables",
		"The flag tables and rules end with an older SGLang release, so the newest rules known are applied. Flags, defaults and memory rules that came later are not known.",
		"Update sglplan, or read the findings as those of the newest release in the tables.")
	CodeReleaseOlder = finding.Define("release-older-than-tables",
		"the release is older than the tables",
		"The flag tables and rules begin with a newer SGLang release, so the oldest rules known are applied.",
		"Check flags against the documentation of that release, or move to a release in the tables.")
	CodeReleaseBetween = finding.Define("release-not-in-tables",
		"the release itself is not in the tables",
		"A development build, a pre-release or a build of one's own. The rules of the nearest release in the tables are applied.",
		"Nothing, unless the build differs from that release in launch arguments.")
)

func versionAt(i int) release.Release { return release.MustParse(versions[i]) }

// Releases returns every release that the tables have, the oldest first.
func Releases() []release.Release {
	out := make([]release.Release, len(versions))
	for i := range out {
		out[i] = versionAt(i)
	}
	return out
}

// indexOf returns the position in versions of the release whose table r uses:
// itself, the one with the same table, or the nearest older one. A development
// build counts as the release it leads to.
func indexOf(r release.Release) int {
	if r.IsZero() {
		return len(versions) - 1
	}
	best := 0
	for i, v := range versions {
		if r.AtLeast(v) {
			best = i
		}
	}
	return best
}

// Nearest returns the release whose tables and rules stand for r, which is r
// itself when the tables have it, and says in a finding when it is another.
func Nearest(r release.Release) (release.Release, []finding.Finding) {
	i := indexOf(r)
	base := versionAt(i)
	switch last := versions[len(versions)-1]; {
	case r.IsZero() || r.String() == base.String():
		return base, nil
	case sameTable[r.String()] != "":
		return r, nil
	case release.Compare(r, release.MustParse(last)) > 0 && r.AtLeast(last):
		return base, []finding.Finding{finding.New(CodeReleaseNewer, finding.Warning, "",
			fmt.Sprintf("SGLang %s is newer than the newest release known here, %s: its rules are applied, what came later is not known.", r, base))}
	case r.Before(versions[0]):
		return base, []finding.Finding{finding.New(CodeReleaseOlder, finding.Warning, "",
			fmt.Sprintf("SGLang %s is older than the oldest release known here, %s: its rules are applied.", r, base))}
	}
	return base, []finding.Finding{finding.New(CodeReleaseBetween, finding.Info, "",
		fmt.Sprintf("SGLang %s is not in the tables: the rules of %s are applied.", r, base))}
}
