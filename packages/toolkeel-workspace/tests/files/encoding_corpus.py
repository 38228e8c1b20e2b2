"""Texts in thirty-two encodings, each short, mixed with code, and cut in the middle of a character."""

from __future__ import annotations

from typing import NamedTuple

_GERMAN = "Die Größe der Straße überschreitet das Maß; prüfe bitte die Übersicht für Änderungen."
_FRENCH = "L'élève a été reçu à l'école où l'on fête Noël dès la première journée."
_POLISH = "Zażółć gęślą jaźń; łódź płynie szybko, a książka leży na półce."
_RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. Настройки сохранены."
_UKRAINIAN = "Їжак єднає людей у ґанку; налаштування збережено успішно, її знайдено."
_GREEK = "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. Οι ρυθμίσεις αποθηκεύτηκαν με επιτυχία."
_TURKISH = "Pijamalı hasta yağız şoföre çabucak güvendi. Ayarlar başarıyla kaydedildi, değişti."
_HEBREW = "דג סקרן שט בים מאוכזב ולפתע מצא חברה. ההגדרות נשמרו בהצלחה."
_ARABIC = "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر. تم حفظ الإعدادات."
_THAI = "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน บันทึกการตั้งค่าแล้ว"
_CHINESE = "这是一个配置文件，用于测试程序的读取功能。请不要修改下面的内容。"
_TAIWANESE = "這是一個設定檔，用於測試程式的讀取功能。請不要修改下面的內容。"
_JAPANESE = "これは設定ファイルです。プログラムの読み込みをテストします。日本語の文章を書きます。"
_KOREAN = (
    "이것은 설정 파일입니다. 프로그램의 읽기 기능을 시험합니다. 아래 내용을 수정하지 마십시오."
)
_LITHUANIAN = "Įlinkdama fechtuotojo špaga sublykčiojusi pragręžė apvalų arbūzą, žmonės džiaugėsi."
_ICELANDIC = "Kæmi ný öxi hér ykist þjófum nú bæði víl og ádrepa; ðað er þörf á þessu."

LANGUAGES: tuple[tuple[str, str], ...] = (
    ("utf-8", _GERMAN),
    ("utf-8-sig", _RUSSIAN),
    ("utf-16", _FRENCH),
    ("utf-16-be", "\ufeff" + _CHINESE),
    ("utf-32", _POLISH),
    ("gbk", _CHINESE),
    ("gb18030", _CHINESE),
    ("big5", _TAIWANESE),
    ("big5hkscs", _TAIWANESE),
    ("shift_jis", _JAPANESE),
    ("euc-jp", _JAPANESE),
    ("iso2022_jp", _JAPANESE),
    ("euc-kr", _KOREAN),
    ("cp949", _KOREAN),
    ("koi8-r", _RUSSIAN),
    ("koi8-u", _UKRAINIAN),
    ("cp1251", _RUSSIAN),
    ("cp866", _RUSSIAN),
    ("iso8859-5", _RUSSIAN),
    ("mac-cyrillic", _RUSSIAN),
    ("cp1252", _GERMAN),
    ("latin-1", _FRENCH),
    ("iso8859-15", _FRENCH),
    ("mac-roman", _FRENCH),
    ("cp850", _GERMAN),
    ("cp1250", _POLISH),
    ("iso8859-2", _POLISH),
    ("cp1253", _GREEK),
    ("cp1254", _TURKISH),
    ("cp1255", _HEBREW),
    ("cp1256", _ARABIC),
    ("cp874", _THAI),
    ("cp1257", _LITHUANIAN),
    ("cp1252", _ICELANDIC),
)


class Sample(NamedTuple):
    """A file of the corpus.

    Args:
        codec: Its encoding.
        kind: ``short``, ``mixed`` or ``cut``.
        text: What it says; of a cut file, without the cut characters.
        data: Its bytes.
    """

    codec: str
    kind: str
    text: str
    data: bytes


def make_corpus() -> list[Sample]:
    """Return every file of the corpus."""
    samples = list[Sample]()
    for codec, line in LANGUAGES:
        mark = "\ufeff" if line.startswith("\ufeff") else ""
        plain = line.removeprefix("\ufeff")
        words = plain.split(" ")
        short = (" ".join(words[:3]) if len(words) > 3 else plain[:9]) + "\n"
        samples.append(Sample(codec, "short", short, (mark + short).encode(codec)))
        mixed = mark + "".join(
            f"def step_{number}(value):\n    # {part}\n    return value + {number}\n\n"
            for number, part in enumerate((plain, plain[: len(plain) // 2], plain[::2]))
        )
        samples.append(Sample(codec, "mixed", mixed, mixed.encode(codec)))
        whole = f"{mark}log 1: started\n2: {plain}\n3: {plain}"
        place = max(number for number, char in enumerate(whole) if ord(char) > 127)
        data = whole[: place + 1].encode(codec)
        samples.append(Sample(codec, "cut", whole[:place], data[:-1]))
    return samples
