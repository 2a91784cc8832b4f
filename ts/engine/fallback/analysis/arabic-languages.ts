/**
 * Detects the language of text in Arabic script, like the native engine: by the frequencies of its trigrams.
 *
 * Data: the trigrams of the crate `whatlang` 0.16.4 (MIT), which the tokenizer of the native engine also uses. Each
 * language has 300, the most frequent first. `_` stands for a space.
 */
const PROFILES = {
  ara: `
_الية__فيالحفي__واوال_أوة_اأو_المالتلحقحق_لى_كل_ان_ة_والأ_لكلكلن_اها_ق_فات_مة_ون_أن_ما_اء_ته_و_االعي_اشخصي_أ
_أنالإم_احري_علة_لمن_الاحقوعلىقوقت_اأي_رد__شخ_لل_أيق_الا_فردرية_ول_مند_ا_كا_إلخص_وق_ا_اة_أا_يل_فه_انساجتمن_ي
امةكاندة__حقام_القة_م_فرايةسانل_شين_ن_تإنسا_ل_لاذا_هذان_ألة_ي_ح_دوه_للك_ترالتعاً_له_إلى_عنى_اه_وع_اماعد_أاسي
_حرة_عمع_الدنون_بالحرلعان_و،_وياتي_تالج_هذير_بالدوللإنعيةالفص_ا_ويالولأس_إنأساساسمايحمارامسيةانومل_ي_وعاما_و
تما_متة_تعليع_بك_ا_لهة_فقانى_أول_هم_البة_بساولقاالرلجما_كتمتليهلتملمتانت_قداد_ه_أ_يجرياق_ول_اا_بال_يه_اعيلدو
ل_ولإعلميلمجلأمتع_دم_تساعملاتهلادرة_اة_غيرقدموز_جوزيجوعاللانمتعمانفيهاجتم_ويد_تعلن_لر_ا_يع_كلمم_مجتتمعدون_مع
تميذلككرايها_مسميعإعلعلا_تم_عاملااعالاجني_ليممتسييزيم_اعتالش_تعمييعن_تنا_بحلماي_ييز_ود_أمملاتأسرشترتي__جمه_ع
ر_وي_إتحدحدة_أسعة_ي_مة،_معين_ملمسم_باق_جميلي_ميةالضالسلضمضمالفر_وسلحماملق_مرا_ا_حنت__تنيته_أمإليواجد_ولتي_مر
مرامتح_ذل_وأ_تحا_ف_به_وم_بمويةوليلزو`,
  urd: `
ور__اواور_کیکے__کےیں__کاکی__حقے_کایٔکا_یٔے_کویا_نے_سے__اسٔے_میںکو__ہے_میے_ا_انوں__کر_ہواس_ی_ار_اشخص_شخحق__سے
_جاخص_ہر_ام_ے_مں_کہیں_یاسی_ادیآزا_آززادص_کہ_اہے_جایا_حر_شت_ککہ_م_ک_پری_کان_پر_۔ہردی_یٔیس_کا_جر_مہے۔ق_ہں_ای_ح
و_اار_ن_کقوقکسیحقوری_وق_ے_گ_ہیی_ج_معسان_نہ_مل_حأی__جونی_کرن_لیتی_ی_تنسال_ک_کہجو_انساپنے_بنہ__اپیت_ا_اہ_ک_کس
ر_کرے_ے_ہ_ایمی_ل_ہ۔_اے_لی_شرنےوہ_حاصی_ممعااصلصل_یں۔ویٔنہیملکایسانہات_ی_بد_کی_ہ_تعکیاق_کر_ہا_مدہ__من_بن_قوے_ج
یہ_ں_ماشرمل__دوعاشقومر_بانیوامقوااقولیٔدار_وہ_و__عای_سبر_علااد_ہ_مو_تر_ن_جسے۔ہے،_انو_دیگی_لیمیوں_قا_یہدوسے۔_
ا_ہتعلیم_ر_پجس_ریقے_ح_اقنیالک__گیین_یاد_مسلاق،_ای_نپنےوریم_ا_باعلییر_ی،_انےون_ن_ار_ع_بری_آر_ح_رکے_پکر_گا۔_پی
سب__گانا__پویسےرای_مراریقاننون_ممندگ_اعدگیہ_و_ہرر_س_چاخلاا_پق_ح_بھس_م_شاہوگے_خوسررتیومی_بیرکھ_متکویر_آپوراف_
_محے_سہوںنکہونکت_ا_طرے_عیٔدد_اال_ں۔_م_ماں__مقغیرپنی_امں،_من_ہو_ریعو_کذری_ذرعام،_مدانادااعلمامتما_علدیوبھیھی_
بنیے_یا_کاویل_م_زنیاسلانعمل_عمت_م_بچ`,
  pes: `
_و__حق_باکه_ند__که_دردر_رد__داداراز__ازهر__هریت_ر_کحق_د_های_د_وان__راین_ود_یا__یارا_اردی_وکس__کس_بر_آزباشه_ب
آزاد_ک_خوه_اد_بزاد_اسار__آنق_دشد_حقوقوقی_بوق_ده_ه_دید_ی_کو_اور_ر_مرایاشدخودادیتماری__اجام_دی_ایدس_حاستر_او_م
_اند_انه__بیبا__هم_نممای_تاد،_ی_اانهات_ون_ایتا_بست__کنبراانو_بش_مواین_مراسا_ملوانر_بجتم_شو_اعن_اورد_می_ایآن_
_بهو_آمللا_مماعنی_ت_ا،_ات_وئی_عی_ائیاجتو_بهاین_می_یبشرکندشود_من_زنن_وی،_بایی_ر_مسمل_مورز_آتواداناریعلاگردیگر
کار_گر_بدن_بت_بت_می_م_مقد_آشوریه_اعی_عمر_خن_ح_کشرندمین_احن_تی_د_مته_مد_ش_حمو_ددیگلامکشوهٔ_ه_وانیلی_ت_ک_مجق_م
میت_کا_شداه_نون_آماد_ادااعلد_مق_وا_کمی_ی_حلل_نجا_محساسیده_قابعیقانر_شمقاا_دهد_وی_نواگی_ساور_تبر_اً_نمیاسیاده
او__او_دی_هیهیچه\u200cا\u200cهایر_خواد_تهمها_هتی_حمادگیبینع_اسانر_وشدهومی_عق_بعز_حشر_مند_شرٔمیأمتأانتانداویمسارددبهر
_بمارنیتول_مرانو_هر_دم_مرارعقیسی_و_تزش__بوا_ای_نمومجا_عمورفتعیت_فرندگواهزندم_ونماه_حا_ردیهجاممردت،_د_رمام_تم
ملینندالمطوری_تتخاا_تامیاملدد__شخشخص`,
} as const

type ArabicLanguage = keyof typeof PROFILES

const PROFILE_SIZE = 300
/** More trigrams of a text are ignored. */
const TEXT_SIZE = 2 * PROFILE_SIZE

const trigramsOf = (profile: string): readonly string[] =>
  profile.replaceAll('\n', '').replaceAll('_', ' ').match(/.../gu) ?? []

const profiles = Object.entries(PROFILES).map(
  ([language, profile]) => [language as ArabicLanguage, trigramsOf(profile)] as const,
)

/** ASCII except letters. */
const BREAK = /[\0-@[-`{-~]/g

/** Returns the ranks of the trigrams of a text. Among equally frequent ones the greatest comes first. */
function rankedTrigrams(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  let [first, second] = [' ', '']
  for (const third of [...text.toLowerCase().replace(BREAK, ' '), ' ']) {
    if (second !== '') {
      if (second !== ' ' || (first !== ' ' && third !== ' ')) {
        const trigram = first + second + third
        counts.set(trigram, (counts.get(trigram) ?? 0) + 1)
      }
      first = second
    }
    second = third
  }
  const ranked = [...counts].sort(
    ([one, ofOne], [other, ofOther]) => ofOther - ofOne || (one < other ? 1 : -1),
  )
  return new Map(ranked.slice(0, TEXT_SIZE).map(([trigram], rank) => [trigram, rank]))
}

/** Sums how far the trigrams of a language are from their rank in a text. */
function distance(profile: readonly string[], ranks: ReadonlyMap<string, number>): number {
  return profile.reduce((sum, trigram, rank) => {
    const found = ranks.get(trigram)
    return sum + (found === undefined ? PROFILE_SIZE : Math.abs(found - rank))
  }, 0)
}

/**
 * Returns the most likely language of a text in Arabic script. Source: search §2.1, step 2.
 * @param locales possible languages, empty for all; null is returned if none of them is written in Arabic script
 */
export function arabicLanguage(text: string, locales: readonly string[]): ArabicLanguage | null {
  const candidates = profiles.filter(([language]) => locales.length === 0 || locales.includes(language))
  if (candidates.length === 0) return null
  const ranks = rankedTrigrams(text)
  let best: { readonly language: ArabicLanguage; readonly at: number } | null = null
  for (const [language, profile] of candidates) {
    const at = distance(profile, ranks)
    if (best === null || at < best.at) best = { language, at }
  }
  return best?.language ?? null
}
