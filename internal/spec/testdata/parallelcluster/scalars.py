"""Write what AWS ParallelCluster makes of values as they are written in YAML.

Run by the Python of an installed aws-parallelcluster. The columns are: the value's text in YAML (as JSON), and
what a key of type str, int, float and bool gets, and what stands in slurm.conf for a custom setting. "-" is that
the value is refused, "!" that the file cannot be read.
"""

import io
import json
import warnings

warnings.filterwarnings("ignore")

from marshmallow import ValidationError, fields
from pcluster.utils import yaml_load

WORDS = """
abc|12|+12|-12|0|-0|007|010|08|0o17|0x1F|0X1F|+0x1f|0b101|0b|0x|1_000|1__0|_1|1_|0_7|0x_1f|00|0777|09.5
1.5|1.|.5|+.5|-.5|1.5e3|1.5e+3|1.5E-3|1e3|1e+3|1.e+3|.5e+1|1_0.5|1._|.|._1|.inf|-.inf|+.Inf|.INF|.iNf|.nan|.NaN|-.nan
1:30|-1:30|0:30|1:99|12:30:45|190:20:30.15|1:5|05:00|9:05|1:05:00|1:30.5|10:00:00:00
yes|Yes|YES|yEs|no|No|NO|on|On|ON|off|Off|OFF|true|True|TRUE|tRue|false|False|FALSE|y|Y|n|N|t|T|f|F
~|null|Null|NULL|nULL|
2020-01-01|2020-1-1|2020-13-01|2001-12-14t21:59:43.10-05:00|2001-12-14 21:59:43|2001-12-14T21:59:43Z|2020-01
=|<<|'='|"12"|'yes'|"~"|''|" 12 "|' yes '|"1_0"|"0x10"|"010"|"1.5"|"2.0"|"1e3"|"nan"|"infinity"|"true"|"tRUE"|"1"|"0"|"1.0"|"-1"
2.5|2.0|0.0|1.0|-1.0|99999999999999999999|1e400|123456789012345678|9007199254740993.0|1.7976931348623157e+309
!!str 12|!!str yes|!!str|!!int 12|!!int '12'|!!int "0x10"|!!int 1:30|!!int abc|!!float 3|!!float '1.5'|!!bool yes|!!bool 'no'|!!bool abc|!!null x|!!null ''|!!timestamp 2020-01-01|! 12|! '12'|! yes
!foo 12|!!binary eA==|!!python/name:os.system x|!<tag:yaml.org,2002:str> 12|!!merge <<|!!value =
one two|a:b|a#b|-x|?x|:x|-|a, b|us-east-1|1.2.3|1.2.3.4|10.0.0.0/16|fs-0123|3.14.2|12abc|0.5.1|1-2|+|-.|+1_|--1
"""

BLOCKS = ["|\n  12\n", ">\n  yes\n", "|-\n  12", "12\n  34", "\"12\\\n  34\"", "&x 12", "&x yes", "\"a\\tb\"", "\"\\u0661\"", "'it''s'"]


def said(make, value):
    try:
        got = make(value)
    except (ValidationError, OverflowError, ValueError, TypeError):
        return "-"
    return json.dumps(got)


def main():
    words = [w for line in WORDS.strip("\n").split("\n") for w in line.split("|")]
    print("# What AWS ParallelCluster 3.16.1 (PyYAML, marshmallow) makes of values, read by scalars.py of this folder.")
    print("# yaml\tstr\tint\tfloat\tbool\tslurm.conf")
    for text in dict.fromkeys(words + BLOCKS):
        try:
            value = yaml_load(io.StringIO("a: " + text))["a"]
        except Exception:
            print(json.dumps(text), *"!!!!!", sep="\t")
            continue
        makers = [fields.Str(), fields.Int(), fields.Float(), fields.Bool()]
        print(json.dumps(text), *(said(m.deserialize, value) for m in makers), said(str, value), sep="\t")


main()
