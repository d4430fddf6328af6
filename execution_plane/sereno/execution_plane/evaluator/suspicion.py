"""Suspicion: content that reads like an instruction to a model. A hint for people and policy, never a proof of innocence."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from sereno.execution_plane.evaluator import shown


class Sign(NamedTuple):
    """What made content suspicious: the name of the sign, and where it stands in the content (characters)."""

    name: str
    start: int
    end: int


_MANY = 8
WITHHELD = "[withheld: it reads like an instruction]"
_SIGNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "overrides",
        re.compile(
            r"\b(?:ignore|disregard|forget|override|bypass|do not follow|stop following)\b[^.\n]{0,40}?"
            r"\b(?:previous|prior|above|earlier|all|any|your|system|preceding|original)\b[^.\n]{0,30}?"
            r"\b(?:instructions?|prompts?|rules?|guidelines?|directions?|commands?|criteri(?:on|a)|context|constraints?)\b"
            r"|\b(?:ignora|ignore|olvida|olvide|descarta|omite|haz caso omiso)\b[^.\n]{0,40}?"
            r"\b(?:instrucci(?:ón|on|ones)|indicaciones|reglas|órdenes|ordenes|criterios?)\b"
            r"|(?:忽略|无视|忘记|忘掉|不要理会|不要遵守|跳过)[^。\n]{0,20}?(?:指令|指示|提示|规则|说明|要求|标准|命令)",
            re.IGNORECASE,
        ),
    ),
    (
        "new_role",
        re.compile(
            r"\byou are (?:now|no longer)\b|\b(?:act|behave|respond) as (?:if you (?:are|were)|an? (?:unrestricted|different|new))\b"
            r"|\bpretend (?:to be|that you|you)\b|\bnew (?:system )?(?:instructions?|prompt|role|task)\s*[:=]"
            r"|\bahora eres\b|\bact[úu]a como\b|\bnuevas? instrucci(?:ón|ones)\s*:|你现在是|从现在(?:开始|起)，?你|扮演|新的?(?:指令|任务|角色)[:：]",
            re.IGNORECASE,
        ),
    ),
    (
        "speaks_to_judge",
        re.compile(
            r"\b(?:assistant|evaluator|classifier|language model|llm|ai model|the model|chatgpt|claude|gpt)\b[^.\n]{0,40}?"
            r"\b(?:must|should|shall|has to|needs to|please|will now|is (?:required|instructed))\b"
            r"|\b(?:mark|flag|classify|label|rate|score|treat|report|answer|respond|return|output|set|reply)\b[^.\n]{0,40}?"
            r"(?:\bfires\b|\bconfidence\b|\bas (?:urgent|safe|benign|critical|positive|negative|true|false|relevant)\b|\{\s*\"?fires)"
            r"|\b(?:evaluador|clasificador|asistente|modelo)\b[^.\n]{0,40}?\b(?:debe|deberás|tiene que|responde|marca|devuelve)\b"
            r"|(?:评估者|评估器|分类器|助手|模型|人工智能)[^。\n]{0,15}?(?:必须|应该|应当|需要|请|务必)|(?:标记为|判定为|输出|返回|回答)[^。\n]{0,12}?(?:true|真|触发|紧急|安全)",
            re.IGNORECASE,
        ),
    ),
    (
        "frame",
        re.compile(
            r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)\|>|\[/?INST\]|<</?SYS>>"
            r"|^\s*(?:#{1,4}\s*)?(?:system|assistant|developer)\s*(?:prompt|message|note)?\s*[:>]\s"
            r"|</?(?:system|instructions?|criterion|item|items|data|prompt)(?:[ -][^>]{0,40})?>",
            re.IGNORECASE | re.MULTILINE,
        ),
    ),
    (
        "asks_for_secrets",
        re.compile(
            r"\b(?:reveal|print|show|repeat|leak|disclose|exfiltrate|send|post|forward|email|upload)\b[^.\n]{0,40}?"
            r"\b(?:system prompt|your (?:prompt|instructions|rules)|api keys?|credentials?|passwords?|secrets?|tokens?|env(?:ironment)? variables?|private keys?)\b"
            r"|\b(?:revela|muestra|imprime|envía|envia|reenvía|manda)\b[^.\n]{0,40}?\b(?:contraseñas?|credenciales|claves?|secretos?|instrucciones|prompt)\b"
            r"|(?:泄露|显示|打印|发送|转发|透露)[^。\n]{0,15}?(?:系统提示|提示词|密码|密钥|凭证|令牌|机密)",
            re.IGNORECASE,
        ),
    ),
    (
        "calls_a_tool",
        re.compile(
            r"\b(?:call|invoke|use|run|execute)\b[^.\n]{0,20}?\b(?:tool|function|command|shell|bash|curl|rm -rf|plugin)\b[^.\n]{0,60}?\b(?:to|with|now|immediately|and)\b"
            r"|\"?(?:tool_calls?|function_call)\"?\s*[:=]"
            r"|\b(?:ejecuta|invoca|llama a)\b[^.\n]{0,20}?\b(?:herramienta|función|funcion|comando)\b|(?:调用|执行|运行)[^。\n]{0,8}?(?:工具|函数|命令|脚本)",
            re.IGNORECASE,
        ),
    ),
)


def unseen(text: str) -> bool:
    """Whether a text hides characters from people that spell something: tags, or many format characters."""
    hidden = [character for character in text if not shown.visible(character)]
    return any("\U000e0020" <= character <= "\U000e007e" for character in hidden) or len(hidden) >= _MANY


def signs(data: Any) -> tuple[Sign, ...]:
    """The signs in the data of an item, by name, each once."""
    found: dict[str, Sign] = {}
    for text in shown.texts(data):
        if unseen(text):
            found.setdefault("unseen_characters", Sign("unseen_characters", 0, len(text)))
        plain = shown.visible(text)
        for name, expression in _SIGNS:
            if name not in found and (match := expression.search(plain)):
                found[name] = Sign(name, match.start(), match.end())
    return tuple(found[name] for name in sorted(found))


def names(data: Any) -> tuple[str, ...]:
    """The names of the signs in the data."""
    return tuple(sign.name for sign in signs(data))


def masked(data: Any) -> Any:
    """The same data, each line of a text that has a sign withheld."""
    if isinstance(data, str):
        return "\n".join(WITHHELD if signs(line) else line for line in data.split("\n"))
    if isinstance(data, Mapping):
        return {name: masked(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [masked(value) for value in data]
    return data
